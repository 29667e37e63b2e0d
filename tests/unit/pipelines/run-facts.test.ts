import { describe, expect, test } from "bun:test";
import { lossPct } from "../../../src/pipelines/run-facts.ts";
import type { LedgerRow } from "../../../src/schema/ledger.ts";

function row(path: string, seen: number, dropped: number): LedgerRow {
  const dropped_by: Record<string, number> = dropped > 0 ? { ring_full: dropped } : {};
  return { path, pid: null, seen, kept: seen - dropped, filtered: 0, dropped, dropped_by, unseen_estimate: null };
}

describe("the share of events lost", () => {
  test("is 0 where nothing was seen, and where nothing was lost", () => {
    expect(lossPct([])).toBe(0);
    expect(lossPct([row("fault/fault/cpu0", 100, 0), row("fault/segments", 100, 0)])).toBe(0);
  });

  test("counts an event once, though it passes the ring and then the segments", () => {
    expect(lossPct([row("fault/fault/cpu0", 100, 50), row("fault/segments", 50, 0)])).toBe(50);
    expect(lossPct([row("fault/fault/cpu0", 100, 50), row("fault/segments", 50, 25)])).toBe(75);
    expect(lossPct([row("fault/fault/cpu0", 100, 0), row("fault/segments", 100, 100)])).toBe(100);
  });

  test("is taken over all paths together", () => {
    const ledger = [
      row("fault/fault/cpu0", 300, 30),
      row("fault/fault/cpu1", 100, 10),
      row("mapping/ringbuf", 400, 0),
      row("fault/segments", 360, 0),
      row("mapping/segments", 400, 0),
    ];
    expect(lossPct(ledger)).toBe(5);
  });

  test("is that of the segments where a stream has no other account", () => {
    expect(lossPct([row("access/segments", 40, 10)])).toBe(25);
  });
});
