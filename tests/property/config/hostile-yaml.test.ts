import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseYaml } from "../../../src/config/yaml-text.ts";

test("any text is parsed or refused with a place in it, and never thrown at", () => {
  const bits = fc.constantFrom(
    "run:",
    " ",
    "\n",
    "- ",
    "&a ",
    "*a",
    "[",
    "]",
    "{",
    "}",
    "<<: ",
    "? ",
    "!!set",
    "|",
    ">",
    '"',
    "'",
    "#",
    "\t",
    "---\n",
    "~",
    "%YAML",
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(fc.oneof(bits, fc.string({ maxLength: 4 })), { maxLength: 60 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(text, fc.array(fc.oneof(fc.string(), fc.nat(3)), { maxLength: 4 }), (source, path) => {
      const { problems, locate } = parseYaml(source);
      const lines = source.split(/\r\n|\r|\n/).length;
      for (const { line, column } of [...problems, locate(path, "key"), locate(path, "value")]) {
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(lines + 1);
        expect(column).toBeGreaterThanOrEqual(1);
      }
    }),
    { numRuns: 500 },
  );
});
