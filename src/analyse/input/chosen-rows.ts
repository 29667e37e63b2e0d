/** What is asked of KV rows of which one is there at a time. */
import type { KvRowSample, KvRowSamples } from "./input.ts";

/** True where one of them is such. */
export function someRow(rows: KvRowSamples, isSuch: (row: KvRowSample) => boolean): boolean {
  for (const row of rows) if (isSuch(row)) return true;
  return false;
}

/** Those that were written while we looked. */
export function writtenRows(rows: KvRowSamples): Iterable<KvRowSample> {
  return {
    *[Symbol.iterator]() {
      for (const row of rows) if (row.is_written) yield row;
    },
  };
}
