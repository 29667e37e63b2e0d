import { expect, test } from "bun:test";
import type { Batch } from "../../../src/columnar/batch.ts";
import { openRowTally } from "../../../src/columnar/segments/row-tally.ts";
import { balances } from "../../../src/schema/ledger.ts";

/** Accesses of the sources named, in that order. */
function accesses(...sources: string[]): Batch {
  const values = [...new Set(sources)];
  const codes = Uint32Array.from(sources, (source) => values.indexOf(source));
  return { table: "access", rows: sources.length, columns: { source: { codes, values } } };
}

test("rows of several sources in one batch are counted each with its source, in files and lost", () => {
  const tally = openRowTally("access");
  const batch = accesses("watch", "clock", "watch", "watch", "pebs");
  tally.keep(tally.add(batch, 0, 3, tally.none()));
  tally.drop("writer_queue", tally.add(batch, 3, 5, tally.none()));
  const account = tally.account();
  expect(account.every(balances)).toBe(true);
  expect(account.map(({ source, seen, kept, dropped_by }) => ({ source, seen, kept, dropped_by }))).toEqual([
    { source: "pebs", seen: 1, kept: 0, dropped_by: { writer_queue: 1 } },
    { source: "clock", seen: 1, kept: 1, dropped_by: {} },
    { source: "watch", seen: 3, kept: 2, dropped_by: { writer_queue: 1 } },
  ]);
});

test("rows of a stream that feeds one source have that source, and the stream an account though nothing came", () => {
  const tally = openRowTally("mapping");
  expect(tally.account()).toMatchObject([{ stream: "mapping", source: "region_map", stage: "segments", seen: 0 }]);
  tally.drop("disk_full", tally.add({ table: "mapping", rows: 7, columns: {} }, 2, 7, tally.none()));
  expect(tally.account()).toMatchObject([{ seen: 5, kept: 0, dropped_by: { disk_full: 5 } }]);
});
