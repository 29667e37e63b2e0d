import { expect, test } from "bun:test";
import { ledgerOf } from "../../../../src/collect/perf-mem/file/account.ts";
import { createStops } from "../../../../src/collect/perf-mem/file/stops.ts";
import { lostPct } from "../../../../src/schema/loss.ts";
import { MEM_LOADS, perfData, recordWriter } from "../../../fixtures/perf-data.ts";
import { readBytes } from "../../../fixtures/perf-rows.ts";

const MS = 1_000_000n;
const UNTHROTTLE = 6;

test("an event that is stopped for a fifth of its time misses a quarter of what it saw", () => {
  const stops = createStops();
  for (const stream of ["1/1", "1/2"]) {
    for (let i = 0n; i < 100n; i++) {
      stops.stopped(stream, 10n * i * MS);
      stops.resumed(stream, (10n * i + 2n) * MS);
    }
  }
  expect(stops.unseen(1000, 0n, 1000n * MS)).toBeCloseTo(250, 9);
  expect(createStops().unseen(1000, 0n, 1000n * MS)).toBe(0);
});

test("a stop lasts for a tick at most, up to the end of the run, and no end without a begin counts", () => {
  const stops = createStops();
  stops.resumed("1/1", 5n * MS);
  stops.stopped("1/1", 100n * MS);
  // It had no CPU for long: the tick is over by then.
  stops.resumed("1/1", 600n * MS);
  stops.stopped("1/1", 990n * MS);
  expect(stops.unseen(980, 0n, 1000n * MS)).toBeCloseTo(20, 9);
});

test("a file of which the kernel held samples back says how many are missing", async () => {
  const write = recordWriter();
  const resumed = (time: bigint) =>
    write.record(UNTHROTTLE, 0, (out) => {
      for (const word of [time, MEM_LOADS.ids[0] ?? 0n, 0n]) out.u64(word);
    });
  const records = Array.from({ length: 101 }, (_, i) => [
    write.sample(MEM_LOADS, { pid: 1, addr: 4096n, time: BigInt(10 * i) * MS + 1n }),
    write.throttle(MEM_LOADS, BigInt(10 * i) * MS + 1n),
    resumed(BigInt(10 * i + 5) * MS + 1n),
  ]).flat();
  const { file } = await readBytes(await perfData({ mode: "file", events: [MEM_LOADS], records }));
  expect(file.account).toMatchObject({ throttles: 101, badRecords: 0 });
  const ledger = ledgerOf(file.account, "perf", ["pebs"]);
  expect(lostPct(ledger, "pebs") ?? 0).toBeGreaterThan(49);
  expect(lostPct(ledger, "pebs") ?? 100).toBeLessThan(52);
});
