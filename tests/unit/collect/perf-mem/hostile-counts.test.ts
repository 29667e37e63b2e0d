/** Counts of a file that a few bytes of it drive: each has an end, and what is beyond it is counted. */
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RECORD, SAMPLE } from "../../../../src/collect/perf-mem/file/abi.ts";
import { createStops } from "../../../../src/collect/perf-mem/file/stops.ts";
import { perfScriptImporter } from "../../../../src/collect/perf-mem/script/import-text.ts";
import { type EventSpec, MEM_LOADS, perfData, recordWriter } from "../../../fixtures/perf-data.ts";
import { readBytes } from "../../../fixtures/perf-rows.ts";

const write = recordWriter();
const folder = mkdtempSync(join(tmpdir(), "mrm-hostile-counts-"));
afterAll(() => rmSync(folder, { recursive: true }));

const mapping = (event: EventSpec, path: string, time: bigint): Uint8Array =>
  write.mmap2(event, { pid: 5, addr: 0x40_0000n, size: 4096n, inode: 9n, prot: 5, path, time });
const whole = { pid: 5, tid: 5, time: 9n, addr: 0x5000n, period: 1n };

test("a mapping whose name is longer than any path is a record that cannot be read", async () => {
  const paths = ["/a", `/${"b".repeat(4095)}`, `/${"c".repeat(4096)}`, `/${"d".repeat(60_000)}`];
  const records = [...paths.map((path) => mapping(MEM_LOADS, path, 7n)), write.sample(MEM_LOADS, whole)];
  const { file, rows } = await readBytes(await perfData({ mode: "pipe", events: [MEM_LOADS], records }));
  expect(rows.mapping?.map(({ path }) => String(path).slice(0, 2))).toEqual(["/a", "/b"]);
  expect(file.account.badRecords).toBe(2);
});

test("mappings that wait for the first time of a file wait with so many letters of their names at most", async () => {
  const timeless = { ...MEM_LOADS, sampleType: MEM_LOADS.sampleType & ~SAMPLE.TIME };
  const one = mapping(timeless, `/${"a".repeat(4000)}`, 0n);
  const records = Array<Uint8Array>(10_000).fill(one);
  const { file, rows } = await readBytes(await perfData({ mode: "pipe", events: [timeless], records }));
  const kept = rows.mapping?.length ?? 0;
  expect(kept).toBe(Math.floor(2 ** 25 / 4001));
  expect(file.account.badRecords).toBe(records.length - kept);
}, 30_000);

test("an event that is named anew before each sample is not told anew each time, and no sample is lost by it", async () => {
  const events = Array.from({ length: 4000 }, (_, i) => ({ ...MEM_LOADS, ids: [BigInt(i + 1)] }));
  const named = (i: number): Uint8Array =>
    write.record(RECORD.EVENT_UPDATE, 0, (out) => {
      out.u64(2n);
      out.u64(1n);
      out.text(`event${i}`);
    });
  const samples = 2000;
  const records = Array.from({ length: samples }, (_, i) => [named(i), write.sample(MEM_LOADS, { ...whole, id: 1n })]);
  const { file, rows } = await readBytes(await perfData({ mode: "pipe", events, records: records.flat() }));
  expect(rows.access).toHaveLength(samples);
  expect(file.account.badRecords).toBeGreaterThan(samples / 4);
}, 30_000);

test("events share a number of streams that were stopped, as many as any machine has", () => {
  const room = { left: 3 };
  const [one, other] = [createStops(room), createStops(room)];
  for (const stream of ["1/1", "1/2", "1/1", "1/2"]) one.stopped(stream, 1n);
  for (const stream of ["2/1", "2/2", "2/3"]) other.stopped(stream, 1n);
  expect(room.left).toBe(0);
  expect(other.unseen(100, 0n, 10_000_001n)).toBeGreaterThan(0);
});

test("text of more events than there are, or with a name of any length, is left out and counted", async () => {
  const path = join(folder, "script.txt");
  const line = (event: string): string => `a 1/1 [000] 1.000000: 1 ${event}: 1000 1 |OP LOAD|LVL x 1000 a (b)\n`;
  const events = Array.from({ length: 1100 }, (_, i) => `mem-loads-${i}`);
  writeFileSync(path, [...events, `mem-loads-${"x".repeat(2000)}`, ...events].map(line).join(""));
  let rows = 0;
  const onBatch = (batch: { readonly rows: number }): void => {
    rows += batch.rows;
  };
  const sink = { onBatch, ready: async () => {} };
  const { warnings, ledger } = await perfScriptImporter.read(path, sink);
  expect(rows).toBe(2 * 1024);
  expect(warnings).toContain("153 lines could not be read as samples");
  expect(ledger.find(({ stage }) => stage === "decode")?.dropped_by).toEqual({ unknown_event: 153 });
});
