/** The page on what does not work quotes the program: what it says that doctor says is in the code. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { loadVerbs } from "../../../src/commands/verbs.ts";
import { unknownFlag } from "../../../src/config/flags.ts";

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

test("every command that is told has the options that it is told with", async () => {
  const verbs = await loadVerbs();
  const commands = [...PAGE.matchAll(/mrm-trace ([a-z-]+)((?: (?:--?)?[\w.=-]+)*)/g)];
  expect(commands.length).toBeGreaterThan(5);
  for (const [all, name = "", rest = ""] of commands) {
    const verb = verbs[name];
    expect([all, verb !== undefined]).toEqual([all, true]);
    if (verb !== undefined) expect([all, unknownFlag(rest.trim().split(" "), verb.args)]).toEqual([all, null]);
  }
});
