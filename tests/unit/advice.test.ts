import { expect, test } from "bun:test";
import { Glob } from "bun";

const SOURCE = new URL("../../src/", import.meta.url).pathname;

/** What an advice begins with: a thing to do, or a command to type. */
const VERBS =
  "add allow assume attach boot change check choose connect derive end export fill find free give import install leave let make mount move name open print put read rebuild record report restore run save see set start trace use wait write";
const COMMANDS = "apt-get bun chmod dmesg docker mount mrm-trace scripts/build-bpf sudo uname";
const FIRST_WORDS = new Set([...VERBS.split(" "), ...COMMANDS.split(" ")]);
/** What is asked where a word is nearly one that there is. */
const ASKS = /^did you mean\b/;

/** The arguments of a call in a source text, from behind its bracket. */
function argumentsFrom(text: string, start: number): string[] {
  const found: string[] = [];
  const templates: number[] = [];
  let [depth, from, quote] = [0, start, ""];
  for (let i = start; i < text.length; i++) {
    const sign = text[i] ?? "";
    if (quote !== "") {
      if (sign === "\\") i += 1;
      else if (quote === "`" && text.startsWith("${", i)) {
        templates.push(depth++);
        quote = "";
        i += 1;
      } else if (sign === quote) quote = "";
    } else if ("\"'`".includes(sign)) quote = sign;
    else if ("([{".includes(sign)) depth += 1;
    else if (sign === "}" && templates.at(-1) === depth - 1) {
      depth = templates.pop() ?? 0;
      quote = "`";
    } else if (")]}".includes(sign)) {
      if (depth === 0) return [...found, text.slice(from, i)];
      depth -= 1;
    } else if (sign === "," && depth === 0) {
      found.push(text.slice(from, i));
      from = i + 1;
    }
  }
  return found;
}

/** Every text in an expression that may be its value: of both sides of a choice, and of a template as far as it is fixed. */
function textsOf(expression: string): string[] {
  return [...expression.matchAll(/(?:^|[?:]\s)\s*(?:"([^"]+)"|`([^`$]+))/g)]
    .map(([, plain, template]) => plain ?? template ?? "")
    .filter((advice) => /[a-z]{2}/.test(advice));
}

/** Advice of a file: third arguments of errors, and values that are called hint or fix. */
function adviceOf(text: string): string[] {
  const errors = [...text.matchAll(/new MrmTraceError\(/g)].map(({ index }) => {
    return (argumentsFrom(text, index + "new MrmTraceError(".length)[2] ?? "").trim();
  });
  const named = [...text.matchAll(/\b(?:const (?:\w*[hH]int|FIND|ALONE|REPORT_HINT) =|fix:)/g)].map(
    ({ index, 0: begin }) => {
      return (argumentsFrom(text, index + begin.length)[0] ?? "").split(";\n")[0]?.trim() ?? "";
    },
  );
  return [...errors, ...named].flatMap(textsOf);
}

test("every advice is something to do: it begins with a verb or with a command", async () => {
  const all: string[] = [];
  for await (const file of new Glob("**/*.ts").scan(SOURCE))
    all.push(...adviceOf(await Bun.file(SOURCE + file).text()));
  expect(all.length).toBeGreaterThan(120);
  const first = (advice: string): string => advice.split(/[\s:,]/)[0] ?? "";
  expect(all.filter((advice) => !FIRST_WORDS.has(first(advice)) && !ASKS.test(advice))).toEqual([]);
});
