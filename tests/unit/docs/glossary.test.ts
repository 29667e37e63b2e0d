import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";

const ROOT = new URL("../../../", import.meta.url).pathname;
const GLOSSARY = readFileSync(join(ROOT, "docs/glossary.md"), "utf8");
/** Terms that a newcomer meets first; each must have its line. */
const NEEDED = ["pass", "stratum", "write epoch", "exec epoch", "census", "cohort", "ahead", "sight", "arming", "trap"];

const terms = [...GLOSSARY.matchAll(/\*\*([^*]+)\*\*/g)].map(([, term]) => term ?? "");

function allText(): string {
  const files = ["src/**/*.ts", "docs/**/*.md"].flatMap((pattern) => [...new Glob(pattern).scanSync(ROOT)]);
  return files
    .filter((path) => path !== "docs/glossary.md")
    .map((path) => readFileSync(join(ROOT, path), "utf8"))
    .join("\n");
}

describe("the glossary", () => {
  test("has every term that a newcomer needs, each term once", () => {
    expect(NEEDED.filter((term) => !terms.includes(term))).toEqual([]);
    expect(terms.length).toBe(new Set(terms).size);
  });

  test("has no term that neither the code nor another page uses", () => {
    const text = allText();
    const unused = terms.filter((term) => !new RegExp(`\\b${term.replace(" ", "[ _]")}`, "i").test(text));
    expect(unused).toEqual([]);
  });

  test("explains a term in one sentence", () => {
    for (const line of GLOSSARY.split("\n").filter((text) => text.startsWith("- "))) {
      expect(line).toMatch(/: \S.*\.$/);
      expect(line.slice(0, -1)).not.toMatch(/\. [A-Z]/);
    }
  });
});
