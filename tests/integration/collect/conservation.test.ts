import { describe, expect, test } from "bun:test";
import { cpus } from "node:os";
import { openFaults } from "../../../src/collect/ebpf/faults/faults.ts";
import { openLifecycle } from "../../../src/collect/ebpf/lifecycle/lifecycle.ts";
import type { Batch } from "../../../src/columnar/batch.ts";
import { balances } from "../../../src/schema/ledger.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { rowsAt } from "../../fixtures/ledger.ts";
import { holdTarget } from "./held-target.ts";
import { columnOf } from "./traced.ts";

const THREADS = Math.min(2, cpus().length);
const USER = 2;
const MAJOR_DONE = 16;

interface Storm {
  readonly pages: number;
  /** ru_minflt + ru_majflt between the two times: the kernel may let a page be faulted in twice. */
  readonly counted: number;
  readonly begin: string;
  readonly end: string;
  readonly areas: readonly string[];
}

/** A storm of faults, drained every `drain_ms` or only at its end; what it did, what was seen, and the account. */
async function storm(pages: number, turns: number, drain_ms: number | null) {
  await using held = holdTarget([compileProgram("fault-storm"), String(THREADS), String(pages), String(turns)]);
  using lifecycle = await openLifecycle(held.target.pid);
  using faults = await openFaults(lifecycle.targetsFd);
  lifecycle.addProcess(held.target.pid);
  const batches: Batch[] = [];
  const timer =
    drain_ms === null ? null : setInterval(() => batches.push(...structuredClone(faults.drain())), drain_ms);
  try {
    held.release();
    const did = JSON.parse(await held.line()) as Storm;
    faults.detach();
    batches.push(...structuredClone(faults.drain()));
    const ledger = faults.ledger();
    const sum = (field: "seen" | "kept" | "dropped") => ledger.reduce((all, row) => all + row[field], 0);
    const inArea = (address: bigint) =>
      did.areas.some((area) => address >= BigInt(area) && address < BigInt(area) + BigInt(pages) * 4096n);
    const times = columnOf(batches, "timestamp_ns").map(BigInt);
    const flags = columnOf(batches, "fault_flags").map(Number);
    const between = times.filter(
      (at, i) => at >= BigInt(did.begin) && at <= BigInt(did.end) && !((flags[i] ?? 0) & MAJOR_DONE),
    ).length;
    const inStorm = columnOf(batches, "address").map(BigInt).filter(inArea);
    const stormPages = new Set(inStorm.map((address) => address >> 12n)).size;
    const stormRows = inStorm.length;
    return { pid: held.target.pid, did, ledger, sum, batches, rows: times.length, between, stormRows, stormPages };
  } finally {
    if (timer !== null) clearInterval(timer);
  }
}

/** Rows that go back in time on their CPU and ring. */
function backward(batches: readonly Batch[]): number {
  const last = new Map<string, bigint>();
  let wrong = 0;
  for (const batch of batches) {
    const [time, cpu, flags] = ["timestamp_ns", "cpu", "fault_flags"].map((name) => columnOf([batch], name));
    for (const [i, at] of (time ?? []).entries()) {
      const flag = Number(flags?.[i]);
      const ring = `${cpu?.[i]} ${flag & MAJOR_DONE} ${flag & USER}`;
      if (BigInt(at) < (last.get(ring) ?? 0n)) wrong += 1;
      last.set(ring, BigInt(at));
    }
  }
  return wrong;
}

describe("faults", () => {
  test("are all kept under load, on every CPU, and the account balances", async () => {
    const { did, ledger, sum, batches, rows, between, stormPages } = await storm(5000, 8, 2);
    expect(did.pages).toBe(THREADS * 5000 * 8);
    expect(ledger.filter((row) => !balances(row))).toEqual([]);
    expect(sum("dropped")).toBe(0);
    expect(sum("kept")).toBe(rows);
    expect(sum("seen")).toBe(rows);
    expect(between).toBe(did.counted);
    expect(did.counted).toBeGreaterThanOrEqual(did.pages);
    expect(stormPages).toBe(THREADS * 5000);
    expect(rowsAt(ledger, { stream: "fault", stage: "ring", way: "fault" })[0]?.seen).toBeGreaterThanOrEqual(did.pages);
    expect(backward(batches)).toBe(0);
  });

  test("that find no room, because nobody drains, are counted, each of them, and what is kept is whole", async () => {
    const { pid, did, ledger, sum, batches, rows, stormRows } = await storm(5000, 40, null);
    expect(ledger.filter((row) => !balances(row))).toEqual([]);
    expect(sum("seen")).toBeGreaterThanOrEqual(did.pages);
    expect(sum("dropped")).toBeGreaterThan(0);
    expect(sum("kept")).toBe(rows);
    expect(sum("seen") - sum("dropped")).toBe(rows);
    expect(ledger.every((row) => Object.keys(row.dropped_by).join() === "ring_full")).toBe(true);
    expect(did.pages - stormRows).toBeLessThanOrEqual(sum("dropped"));
    // The rest is what a program faults in to start: nearly all rows are of the storm.
    expect(stormRows / rows).toBeGreaterThan(0.9);
    expect(backward(batches)).toBe(0);
    expect(new Set(columnOf(batches, "pid"))).toEqual(new Set([pid]));
    expect(columnOf(batches, "address").every((address) => BigInt(address) < 1n << 47n)).toBe(true);
  });

  test("of an open block are read at the close: totals are exact for any number of pages", async () => {
    for (const pages of [1, 255, 256, 257, 1003]) {
      const { did, sum, rows, between, stormPages } = await storm(pages, 1, null);
      expect([pages, between, stormPages]).toEqual([pages, did.counted, did.pages]);
      expect([sum("kept"), sum("dropped")]).toEqual([rows, 0]);
    }
  });
});
