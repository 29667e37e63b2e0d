import { expect, test } from "bun:test";
import { lostOver, lostShare } from "../../../../src/analyse/watched/lost-watches.ts";
import type { LedgerRow } from "../../../../src/schema/ledger.ts";
import { watch } from "../sample-input.ts";

const ring = (seen: number, dropped: number): LedgerRow[] => [
  {
    ...{ stream: "access", source: "watch", stage: "ring", way: null, pid: null },
    ...{ seen, kept: seen - dropped, filtered: 0, dropped, dropped_by: { ring_full: dropped }, unseen_estimate: null },
  },
];
const watches = (ids: readonly number[]) => ids.map((watch_id) => watch([], { watch_id }));

test("where no trap was lost no watch was, however they are numbered", () => {
  expect(lostShare({ ledger: [], watches: watches([7]) })).toBe(0);
  expect(lostShare({ ledger: ring(1000, 0), watches: watches([7]) })).toBe(0);
});

test("the share of traps is lost, or that of the watches that have no row where it is more", () => {
  expect(lostShare({ ledger: ring(1000, 5), watches: watches([1, 2, 3, 4]) })).toBeCloseTo(0.005, 9);
  expect(lostShare({ ledger: ring(1000, 5), watches: watches([1, 2, 4, 5]) })).toBeCloseTo(0.2, 9);
  expect(lostOver(0.2)).toBeCloseTo(0.25, 9);
});
