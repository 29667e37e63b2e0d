import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { captureLedger } from "../../../../src/collect/memray/capture-summary.ts";
import { MrmTraceError } from "../../../../src/errors.ts";
import { balances } from "../../../../src/schema/ledger.ts";
import { type CaptureVersion, memrayWriter } from "../../../fixtures/memray-writer.ts";
import { type ReadAll, readAll } from "../../../fixtures/read-allocations.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-memray-property-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(bytes: Uint8Array): ReadAll {
  const path = join(folder, "capture.bin");
  writeFileSync(path, bytes);
  return readAll(path);
}

const version = fc.constantFrom<CaptureVersion[]>(11, 12, 13);
const event = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant("malloc"), at: fc.nat(40), size: fc.nat(1e6) }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant("free"), at: fc.nat(40), size: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("memory"), at: fc.nat(30), size: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("thread"), at: fc.nat(5), size: fc.constant(0) }) },
);

/** What happens to 41 addresses, followed one event at a time. */
function model(events: readonly { what: string; at: number; size: number }[]) {
  const live = new Map<number, number>();
  let bytes = 0;
  let peak = 0;
  let records = 0;
  let foreign = 0;
  for (const { what, at, size } of events) {
    if (what === "malloc") {
      bytes += size - (live.get(at) ?? 0);
      live.set(at, size);
    } else if (what === "free") {
      if (!live.has(at)) foreign += 1;
      bytes -= live.get(at) ?? 0;
      live.delete(at);
    } else continue;
    records += 1;
    peak = Math.max(peak, bytes);
  }
  return { bytes, peak, records, foreign, live: live.size };
}

describe("memray captures", () => {
  test("give every lifetime that was written, once, in any version", () => {
    fc.assert(
      fc.property(version, fc.boolean(), fc.array(event, { maxLength: 300 }), (of, native, events) => {
        const memoryMs = events.reduce((sum, { what, at }) => sum + (what === "memory" ? at : 0), 0);
        // A capture of which memray did not give up the writing ends within a period of its last memory record.
        const writer = memrayWriter({ version: of, native, endMs: 1_700_000_000_010 + memoryMs });
        let ms = 0;
        writer.thread(1);
        for (const { what, at, size } of events) {
          if (what === "memory") {
            ms += at;
            writer.memory(1e6, ms);
          } else if (what === "thread") writer.thread(at + 1);
          else writer.allocation(what, 0x7f00_0000_0000 + at * 16, size, at);
        }
        writer.trailer();
        const { summary, tables, header } = read(writer.take());
        const expected = model(events);
        const rows = tables.allocation ?? [];
        expect(summary).toMatchObject({ complete: true, problem: null });
        expect(summary.totals.peakBytes).toBe(expected.peak);
        expect(summary.totals.liveBytes).toBe(expected.bytes);
        expect(summary.totals.foreignFrees).toBe(expected.foreign);
        const [all, ...parts] = tables.allocation_total ?? [];
        expect(all).toMatchObject({
          allocator: "all",
          peak_bytes: BigInt(expected.peak),
          live_bytes: BigInt(expected.bytes),
        });
        // There is one function here: its sums are those of all.
        for (const part of parts) expect(part).toEqual({ ...(all ?? {}), allocator: "malloc" });
        expect(rows.length).toBe(events.filter(({ what }) => what === "malloc").length);
        expect(rows.filter(({ ended_by }) => ended_by === "none").length).toBe(expected.live);
        for (const { timestamp_ns, death_ns, birth_error_ns, death_error_ns } of rows) {
          if (death_ns === null) continue;
          // Order is exact, so the brackets of a birth and of a death that follows it can never be apart the wrong way.
          const earliest = Number(timestamp_ns) - Number(birth_error_ns);
          expect(Number(death_ns) + Number(death_error_ns)).toBeGreaterThanOrEqual(earliest);
        }
        expect(captureLedger(header.pid, header, summary, "imported").every(balances)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("are read up to the cut, wherever a kill cut them", () => {
    const writer = memrayWriter({ version: 13, native: true });
    writer.code(1, "main", "a.py", 3);
    writer.thread(1);
    writer.threadName("MainThread");
    writer.push(1);
    writer.objects("/lib/x.so", 0x7000_0000, [[0, 0x1000]]);
    writer.nativeFrame(0x7000_0010, 0);
    const starts = [writer.bytes.length];
    for (let i = 0; i < 60; i++) {
      writer.allocation(i % 3 === 2 ? "free" : "malloc", 0x5000_0000 + ((i * 64) % 512), 100 + i, 1);
      starts.push(writer.bytes.length);
    }
    const whole = writer.take();
    for (let cut = starts[0] ?? 0; cut <= whole.length; cut++) {
      const { summary } = read(whole.subarray(0, cut));
      const complete = starts.filter((start) => start <= cut).length - 1;
      expect(summary.complete).toBe(false);
      // A cut that leaves zeros at the end looks like padding: one record may be lost to it, none is made up.
      expect(complete - summary.totals.records).toBeOneOf([0, 1]);
    }
  });

  test("that are damaged anywhere end in a message or in counted records, never in another error", () => {
    const writer = memrayWriter({ version: 12, native: true });
    writer.code(1, "main", "a.py", 3);
    writer.objects("/lib/x.so", 0x7000_0000, [[0, 0x1000]]);
    writer.thread(1);
    for (let i = 0; i < 200; i++) {
      if (i % 20 === 0) writer.memory(1e6 + i, i);
      if (i % 7 === 0) writer.push(1);
      if (i % 31 === 30) writer.pop(2);
      writer.allocation(["malloc", "mmap", "free", "munmap"][i % 4] ?? "", 0x5000_0000 + (i % 9) * 4096, 5000);
    }
    const good = writer.take();
    const damage = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
    const formats = fc.constantFrom<(readonly [CaptureVersion, number])[]>([11, 0], [12, 0], [13, 0], [12, 1], [11, 1]);
    fc.assert(
      fc.property(damage, formats, fc.nat(good.length), ([...places], [as, aggregated], length) => {
        const bytes = good.slice(0, Math.max(40, length));
        for (const [at, value] of places) bytes[at % bytes.length] = value;
        if (as !== 12) bytes[7] = as;
        bytes[16] = aggregated;
        try {
          const { summary, header } = read(bytes);
          expect(captureLedger(header.pid, header, summary, "imported").every(balances)).toBe(true);
          expect(summary.totals.liveBytes).toBeGreaterThanOrEqual(0);
        } catch (error) {
          expect(error).toBeInstanceOf(MrmTraceError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("of random bytes behind a good header never make the reader fail", () => {
    fc.assert(
      fc.property(version, fc.boolean(), fc.uint8Array({ maxLength: 4000 }), (of, aggregated, noise) => {
        const writer = memrayWriter({ version: of, native: noise.length % 2 === 0, aggregated });
        writer.raw(...noise);
        const { header, summary } = read(writer.take());
        expect(captureLedger(header.pid, header, summary, "imported").every(balances)).toBe(true);
      }),
      { numRuns: 1500 },
    );
  });
});
