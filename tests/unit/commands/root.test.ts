/** Which commands keep the rights of root, against what the page on security says of them. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { loadVerbs } from "../../../src/commands/verbs.ts";

const PAGE = readFileSync(new URL("../../../docs/security.md", import.meta.url), "utf8");

/** Names of commands in the sentence that ends with these words. */
function namedBefore(words: string): string[] {
  const text = PAGE.replaceAll("\n", " ");
  const end = text.indexOf(words);
  expect(end).toBeGreaterThan(0);
  const sentence = text.slice(text.lastIndexOf(". ", end), end);
  return [...sentence.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name ?? "").sort();
}

test("commands that stay root, and those that give it up, are those that the page names", async () => {
  const verbs = Object.entries(await loadVerbs());
  const ofRoot = verbs.filter(([, { isRootNeeded }]) => isRootNeeded).map(([name]) => name);
  const others = verbs.filter(([, { isRootNeeded }]) => !isRootNeeded).map(([name]) => name);
  expect(namedBefore(" stay root, and do below folders")).toEqual(ofRoot.sort());
  expect(namedBefore(" give root up before they begin")).toEqual(others.sort());
});
