import { expect, test } from "bun:test";
import { lifecycleLedger } from "../../../../../src/collect/ebpf/lifecycle/lifecycle-ledger.ts";
import { balances } from "../../../../../src/schema/ledger.ts";
import { lostPct } from "../../../../../src/schema/loss.ts";

const counts = {
  records: { seen: 100, kept: 90, ring_full: 8, malformed: 2, unseen: 3 },
  names: { seen: 50, strangers: 10, lost: 4, malformed: 1 },
  looks: { made: 7, vanished: 1 },
  unfollowed: { table_full: 2, of_32_bits: 1 },
  advice_elsewhere: 5,
};

test("every row balances", () => {
  expect(lifecycleLedger(counts).filter((row) => !balances(row))).toEqual([]);
});

test("processes that nobody followed are lost, not an estimate", () => {
  const followed = lifecycleLedger({ ...counts, unfollowed: { table_full: 0, of_32_bits: 0 } });
  const attach = lifecycleLedger(counts).find(({ stage }) => stage === "attach");
  expect(attach).toMatchObject({ dropped: 3, dropped_by: { table_full: 2, of_32_bits: 1 }, unseen_estimate: null });
  expect(lostPct(lifecycleLedger(counts), "region_map")).toBeGreaterThan(lostPct(followed, "region_map") ?? 100);
});

test("advice on the memory of other processes changes no mapping: it is left out, and counted", () => {
  const [calls] = lifecycleLedger(counts);
  expect(calls).toMatchObject({ seen: 105, filtered: 5 });
});
