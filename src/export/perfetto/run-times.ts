/** When a run began and ended, on the axis of its rows. */
import { isStringColumn } from "../../columnar/batch.ts";
import type { RunTable } from "../../run-directory/table-files.ts";
import type { RunSource } from "../run-source.ts";

export interface RunTimes {
  /** CLOCK_MONOTONIC of the first row that is shown, ns. */
  readonly origin_ns: bigint;
  /** From there to the last one, ns. */
  readonly length_ns: number;
  /** CLOCK_MONOTONIC of a moment that is so many ns after the origin. */
  absolute(ns: number): bigint;
}

/** Columns with the times of what a trace shows. */
const TIMES: readonly (readonly [RunTable, readonly string[]])[] = [
  ["step", ["timestamp_ns", "end_ns"]],
  ["process", ["timestamp_ns"]],
  ["allocation_memory", ["timestamp_ns"]],
  ["region_map", ["birth_ns", "death_ns"]],
];

/** Least and greatest of the times; null for a run that has none of it. */
export function runTimes(run: RunSource): RunTimes | null {
  let first: bigint | null = null;
  let last = 0n;
  for (const [table, names] of TIMES) {
    for (const { rows, columns } of run.batches(table)) {
      for (const name of names) {
        const column = columns[name];
        if (column === undefined || isStringColumn(column)) continue;
        for (let row = 0; row < rows; row++) {
          if (column.valid?.[row] === 0) continue;
          const time = column.data[row] as bigint;
          if (first === null || time < first) first = time;
          if (time > last) last = time;
        }
      }
    }
  }
  if (first === null) return null;
  const origin_ns: bigint = first;
  return { origin_ns, length_ns: Number(last - origin_ns), absolute: (ns) => origin_ns + BigInt(Math.round(ns)) };
}
