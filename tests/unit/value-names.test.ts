import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import biome from "../../biome.json" with { type: "json" };

const ROOT = new URL("../../", import.meta.url).pathname;
const RULE = "./scripts/lint/value-names.grit";
const folder = mkdtempSync(join(tmpdir(), "mrm-lint-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Lines of a file that the rule refuses. */
function refused(text: string): number[] {
  copyFileSync(join(ROOT, RULE), join(folder, "rule.grit"));
  writeFileSync(join(folder, "biome.json"), JSON.stringify({ plugins: ["./rule.grit"] }));
  writeFileSync(join(folder, "example.ts"), text);
  const args = ["lint", "--reporter=json", "--max-diagnostics=none", "example.ts"];
  const { stdout } = Bun.spawnSync([join(ROOT, "node_modules/.bin/biome"), ...args], { cwd: folder });
  const { diagnostics } = JSON.parse(stdout.toString()) as {
    diagnostics: { category: string; location: { start: { line: number } } }[];
  };
  return diagnostics.filter(({ category }) => category === "plugin").map(({ location }) => location.start.line);
}

describe("a value that has the name of a mere word", () => {
  test("is refused wherever it is declared", () => {
    const lines = [
      "export const at = 1;",
      "export const next = (of: number): number => of + 1;",
      "export function span(from: number, to: number): number { return to - from; }",
      "export const [known] = [1];",
      "export const { told } = { told: 1 };",
      "export const { figure: own } = { figure: 1 };",
      "export let is = 1;",
    ];
    expect(refused(lines.join("\n")).toSorted()).toEqual(lines.map((_, i) => i + 1));
  });

  test("is not a field of an object, nor a longer word", () => {
    const lines = [
      "export const range = { from: 1, to: 2, at: 3 };",
      "export const { to: end } = range;",
      "export const atEnd = range.at + end;",
    ];
    expect(refused(lines.join("\n"))).toEqual([]);
  });

  test("is looked for by the linter in all of src", () => {
    expect(biome.overrides).toContainEqual({ includes: ["src/**"], plugins: [RULE] });
  });
});
