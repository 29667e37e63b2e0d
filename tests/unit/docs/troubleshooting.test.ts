/** The page on what does not work quotes the program: what it says that doctor says is in the code. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";

const ROOT = new URL("../../../", import.meta.url).pathname;
const PAGE = readFileSync(join(ROOT, "docs/troubleshooting.md"), "utf8");

/** Cells of the second column. */
const answers = PAGE.split("\n").flatMap((line) => {
  const cells = line.split("|").map((cell) => cell.trim());
  return cells.length === 5 && !/^-*$/.test(cells[2] ?? "") && cells[2] !== "doctor says" ? [cells[2] ?? ""] : [];
});

const source = ["src/doctor/*.ts", "src/collect/ebpf/*.ts", "src/target/*.ts", "src/kernel/*.ts"]
  .flatMap((pattern) => [...new Glob(pattern).scanSync(ROOT)])
  .map((path) => readFileSync(join(ROOT, path), "utf8"))
  .join("\n")
  .replaceAll("\\`", "`")
  .replace(/\$\{OLDEST\.join\("\."\)\}/g, "5.15");

test("what doctor is quoted with is what it says, under the name of a check of its", () => {
  expect(answers.length).toBeGreaterThan(25);
  for (const answer of answers) {
    const quotes = [...answer.matchAll(/`([^`]+)`/g)].map(([, quote]) => quote ?? "");
    for (const quote of quotes.filter((text) => !text.startsWith("mrm-trace "))) {
      const [, name] = /^(?:OK|INFO|WARN|FAIL) (\w+)$/.exec(quote) ?? [];
      const isThere = source.includes(name === undefined ? quote : `"${name}"`);
      expect([quote, isThere]).toEqual([quote, true]);
    }
  }
});
