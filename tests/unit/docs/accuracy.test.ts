/** The tables of accuracy are made by scripts; what README.md and docs/accuracy.md say of them in words must be what they say. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = new URL("../../../", import.meta.url).pathname;
const text = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** Each line of README.md's table, and the page and the table that it speaks of. */
const TABLES = [
  ["watches", "watches", "table"],
  ["steps, regions, samples", "sources", "table of other sources"],
  ["samples of the exact trace of real programs", "samples", "table of traced programs"],
  ["watches of llama.cpp, by when each node of its graphs ran", "programs", "table of nodes"],
] as const;

/** A made table of a page, from its opening mark to its closing one. */
function tableOf(page: string, name: string): string {
  const [, inside = ""] = text(`docs/accuracy-${page}.md`).split(`<!-- ${name} -->`);
  return inside.split(`<!-- end of ${name} -->`)[0] ?? "";
}

interface Counted {
  readonly runs: number;
  readonly rows: number;
  readonly below: number;
}

/** What a table says of itself in its first line. */
function countedOf(table: string): Counted {
  const [, runs, rows, below] =
    /(\d+) runs of each world.*? Of (\d+) rows with a value in 5 runs or more.*?; (\d+) rows hold it in fewer than 90 %/.exec(
      table,
    ) ?? [];
  return { runs: Number(runs), rows: Number(rows), below: Number(below) };
}

test.each(TABLES)("README.md says of %s what their table says", (label, page, name) => {
  const { runs, rows, below } = countedOf(tableOf(page, name));
  expect(rows).toBeGreaterThan(0);
  const line = text("README.md")
    .split("\n")
    .find((each) => each.startsWith(`| ${label} |`));
  expect(line).toBe(`| ${label} | ${runs} runs each | ${rows} | ${rows - below} |`);
});

test("docs/accuracy.md says how many rows of watches have a value, and how many fall short, as their table does", () => {
  const { rows, below } = countedOf(tableOf("watches", "table"));
  expect(text("docs/accuracy.md")).toContain(
    `Of ${rows} rows with five values or more ${below} hold in fewer than 90 %`,
  );
});

test("docs/accuracy.md says of each figure of watches as many values and bounds as their table does", () => {
  const count = (cell = ""): number => Number(cell.replaceAll(",", "").trim());
  const made = tableOf("watches", "table").split("| world |")[0] ?? "";
  const page = text("docs/accuracy.md").split("| figure | values | held |")[1]?.split("\n\n")[0] ?? "";
  const sums = (table: string): number[] =>
    [2, 4].map((column) =>
      table
        .split("\n")
        .map((line) => count(line.split("|")[column]))
        .filter(Number.isFinite)
        .reduce((sum, x) => sum + x, 0),
    );
  expect(sums(made)[0]).toBeGreaterThan(1000);
  expect(sums(page)).toEqual(sums(made));
});

test("what docs/accuracy.md says of work of which the first estimators were wrong is in the table of watches", () => {
  const table = text("docs/accuracy.md").split("| work | figure | then: estimate / truth |")[1]?.split("\n\n")[0] ?? "";
  const rows = table
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()))
    // Those of one world; of several there is a range.
    .filter(([, , , , , now = ""]) => /^[\d.]+$/.test(now));
  expect(rows.length).toBeGreaterThan(5);
  const watches = tableOf("watches", "table");
  for (const [, work, , , , now, half, held = ""] of rows) {
    const cells = `| ${now} | ${half} | ${held.replace(/ \(.*/, "")} |`;
    expect([work, watches.includes(cells) ? cells : "nowhere"]).toEqual([work, cells]);
  }
});
