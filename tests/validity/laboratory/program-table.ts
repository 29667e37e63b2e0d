/** Tables of docs/accuracy-programs.md: what was said of real programs, beside what is true of them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Answer } from "../../../src/simulate/coverage.ts";

export interface ProgramRow extends Answer {
  readonly program: string;
}

const PAGE = join(import.meta.dir, "..", "..", "..", "docs", "accuracy-programs.md");

export const digits = (x: number | null | undefined): string =>
  x === null || x === undefined ? "" : Number.isFinite(x) ? Number(x.toPrecision(4)).toString() : "endless";

/** Markdown, a row for each answer of which something is true. */
export function programTable(rows: readonly ProgramRow[]): string {
  const lines = rows.flatMap(({ program, row, real, isTrue }) => {
    if (real === null) return [];
    const truth = digits(real.lo) === digits(real.hi) ? digits(real.lo) : `${digits(real.lo)} to ${digits(real.hi)}`;
    const isTold = row.status === "ok" || row.status === "bound";
    const holds = isTold ? (isTrue ? "holds" : "MISSES") : "";
    const { source, region_type, metric, status } = row;
    const interval = isTold ? `${digits(row.lo) || "..."} to ${digits(row.hi) || "..."}` : "";
    return [
      `| ${[program, source, `${metric} of ${region_type}`, truth, status, digits(row.value), interval, holds].join(" | ")} |`,
    ];
  });
  return [
    "| program | source | figure | truth | status | value | interval | |",
    "|---|---|---|---|---|---|---|---|",
    ...lines,
  ].join("\n");
}

/** Writes a table between its marks. @param name of the marks */
export function writeTable(name: string, table: string): void {
  const [begin, end] = [`<!-- table of ${name} -->`, `<!-- end of table of ${name} -->`];
  const page = readFileSync(PAGE, "utf8");
  const [before = "", rest = ""] = page.split(begin);
  writeFileSync(PAGE, `${before}${begin}\n${table}\n${end}${rest.split(end)[1] ?? ""}`);
}
