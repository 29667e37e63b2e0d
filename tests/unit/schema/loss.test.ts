import { describe, expect, test } from "bun:test";
import type { LedgerRow } from "../../../src/schema/ledger.ts";
import { eventsOf, lossOf, lostPct, unreadSources, worstLossPct } from "../../../src/schema/loss.ts";
import { ledgerRow } from "../../fixtures/ledger.ts";

const ring = (seen: number, dropped: number, unseen = 0) =>
  ledgerRow({ stream: "fault", source: "fault", stage: "ring" }, seen, dropped, unseen);
const segments = (seen: number, dropped: number) =>
  ledgerRow({ stream: "fault", source: "fault", stage: "segments" }, seen, dropped);
const accesses = (source: LedgerRow["source"], seen: number, dropped: number) =>
  ledgerRow({ stream: "access", source, stage: "segments" }, seen, dropped);

describe("the share of a source's events that was lost", () => {
  test("is not known where the ledger has no event of it", () => {
    expect(lostPct([], "fault")).toBeNull();
    expect(lostPct([ring(0, 0)], "fault")).toBeNull();
    expect(lostPct([ring(100, 50)], "step")).toBeNull();
    expect(lostPct([ring(100, 50)], "a collector's name")).toBeNull();
  });

  test("is what one stage took, whatever the stages after it saw", () => {
    expect(lostPct([ring(100, 40), segments(60, 0)], "fault")).toBeCloseTo(40, 9);
    expect(lostPct([ring(100, 0), segments(100, 0)], "fault")).toBe(0);
    expect(lostPct([ring(100, 0), segments(100, 100)], "fault")).toBe(100);
  });

  test("is composed of what each stage took of that which was left", () => {
    expect(lostPct([ring(100, 50), segments(50, 25)], "fault")).toBeCloseTo(75, 9);
  });

  test("adds the ways through one stage before that", () => {
    expect(lostPct([ring(300, 30), ring(100, 10), segments(360, 0)], "fault")).toBeCloseTo(10, 9);
  });

  test("counts events that no counter saw as lost", () => {
    expect(lostPct([ring(90, 0, 10)], "fault")).toBeCloseTo(10, 9);
  });

  test("is that of one source alone where several share a stream", () => {
    const ledger = [accesses("watch", 40, 10), accesses("clock", 1000, 0)];
    expect(lostPct(ledger, "watch")).toBe(25);
    expect(lostPct(ledger, "clock")).toBe(0);
    expect(lostPct(ledger, "pebs")).toBeNull();
  });

  test("counts events of a stream that feeds several sources for each of them", () => {
    const ledger = [ledgerRow({ stream: "engine", source: null, stage: "ring" }, 100, 50), ring(100, 0)];
    expect(lossOf(ledger)).toEqual([
      { source: "step", lost_pct: 50 },
      { source: "region_map", lost_pct: 50 },
      { source: "fault", lost_pct: 0 },
    ]);
  });

  test("is for the run that of the source that lost most", () => {
    expect(worstLossPct([])).toBe(0);
    expect(worstLossPct([ring(1_000_000, 10), accesses("watch", 40, 10)])).toBe(25);
  });
});

test("every event is counted once: in a file, dropped, or left out on purpose", () => {
  const ledger = [
    { ...ring(120, 0), kept: 100, filtered: 20, stage: "observe" as const },
    ring(100, 50),
    segments(50, 25),
    ledgerRow({ stream: "engine", source: null, stage: "attach" }, 10, 10),
  ];
  expect(eventsOf(ledger)).toEqual({ kept: 25, dropped: 75, filtered: 20 });
});

describe("rows that cannot be read back", () => {
  const read = (source: LedgerRow["source"], seen: number, dropped: number) =>
    ledgerRow({ stream: "access", source, stage: "read" }, seen, dropped);

  test("are those of one source, or of all that the stream feeds", () => {
    expect(unreadSources([accesses("pebs", 10, 5), ring(10, 5)])).toEqual([]);
    expect(unreadSources([read("pebs", 10, 0)])).toEqual(["pebs"]);
    expect(unreadSources([read(null, 10, 0)])).toEqual(["pebs", "ibs", "spe", "clock", "watch", "import"]);
  });

  test("are lost, and counted once", () => {
    const ledger = [accesses("pebs", 100, 0), read("pebs", 100, 25)];
    expect(lostPct(ledger, "pebs")).toBe(25);
    expect(eventsOf(ledger)).toEqual({ kept: 75, dropped: 25, filtered: 0 });
  });
});
