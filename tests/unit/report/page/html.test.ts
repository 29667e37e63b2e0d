import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { escaped, html, jsonScript } from "../../../../src/report/page/html.ts";

describe("markup of the page", () => {
  test("escapes every value, and keeps what is markup already", () => {
    const inner = html`<b>${"<i>&\"'"}</b>`;
    expect(inner.markup).toBe("<b>&lt;i&gt;&amp;&quot;&#39;</b>");
    expect(html`<p title="${'"><script>'}">${inner}${[inner, inner]}${null}${3}</p>`.markup).toBe(
      `<p title="&quot;&gt;&lt;script&gt;">${inner.markup.repeat(3)}3</p>`,
    );
  });

  test("has no character of markup in any text from outside", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => !/[<>"']/.test(escaped(text))));
  });
});

describe("data of the page", () => {
  test("cannot end its element, whatever it says, and is read back as it was", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("</script>", "<!--", "\u2028", "]]>", "a", "\\", '"')), (parts) => {
        const value = { name: parts.join("") };
        const { markup } = jsonScript("data", value);
        const inside = markup.slice(markup.indexOf(">") + 1, markup.lastIndexOf("</script>"));
        expect(inside).not.toContain("<");
        expect(JSON.parse(inside)).toEqual(value);
      }),
    );
  });

  test("has bigints as decimal strings and null for what is no number", () => {
    expect(jsonScript("data", { n: 2n ** 63n, no: Number.NaN }).markup).toContain(
      '{"n":"9223372036854775808","no":null}',
    );
  });
});
