import { expect, test } from "bun:test";
import { withSkippedRuns } from "../../../../src/collect/ebpf/skipped-runs.ts";
import { balances } from "../../../../src/schema/ledger.ts";
import { lostPct } from "../../../../src/schema/loss.ts";
import { ledgerRow } from "../../../fixtures/ledger.ts";

const FAULTS = { stream: "fault", source: "fault" } as const;
const ENGINE = { stream: "engine", source: null } as const;
const skipped = (recursion_misses: number, runs: number | null) => [
  { name: "program", object: "object", recursion_misses, runs },
];

test("runs that the kernel skipped are lost events of those that the program's own counters saw", () => {
  const rows = withSkippedRuns(skipped(10, 500), ENGINE, [
    ledgerRow({ ...ENGINE, stage: "observe" }, 90),
    ledgerRow({ ...ENGINE, stage: "ring" }, 90),
  ]);
  expect(rows.every(balances)).toBe(true);
  expect(rows[0]).toMatchObject({ seen: 100, kept: 90, dropped_by: { recursion: 10 } });
  expect(lostPct(rows, "step")).toBeCloseTo(10, 9);
});

test("they stand beside the runs that there were where no counter saw them", () => {
  const rows = withSkippedRuns(skipped(10, 990), FAULTS, [ledgerRow({ ...FAULTS, stage: "ring" }, 50)]);
  expect(rows.every(balances)).toBe(true);
  expect(rows[1]).toMatchObject({ stage: "observe", way: "program", seen: 1000, kept: 990 });
  expect(lostPct(rows, "fault")).toBeCloseTo(1, 9);
});

test("they never came into the ring where nobody knows how many runs there were", () => {
  const rows = withSkippedRuns(skipped(10, null), FAULTS, [ledgerRow({ ...FAULTS, stage: "ring" }, 90)]);
  expect(rows).toMatchObject([{ stage: "ring", seen: 100, kept: 90, dropped_by: { recursion: 10 } }]);
  expect(rows.every(balances)).toBe(true);
});

test("they are counted though the part has no row at all", () => {
  const rows = withSkippedRuns(skipped(10, null), FAULTS, []);
  expect(rows).toMatchObject([{ stage: "observe", seen: 10, dropped: 10 }]);
});

test("nothing changes where nothing was skipped", () => {
  const ledger = [ledgerRow({ ...FAULTS, stage: "ring" }, 90)];
  expect(withSkippedRuns([], FAULTS, ledger)).toEqual(ledger);
});
