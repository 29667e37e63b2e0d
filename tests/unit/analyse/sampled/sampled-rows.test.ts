import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sampledRows } from "../../../../src/analyse/sampled/sampled-rows.ts";
import { writeParquetFile } from "../../../../src/columnar/write/parquet-writer.ts";
import { OP } from "../../../../src/schema/operation.ts";
import { batchWith, type Given } from "../../../fixtures/row-with.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-sampled-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const HIGH = 0x7f00_0000_0000n;
const TIME = 5n << 32n;

function row(i: number, of: Given<"trace">): Given<"trace"> {
  const common: Given<"trace"> = { region_id: i % 3, pid: 77, source: "pebs", period: 10_007n, op_type: "store" };
  return { ...common, timestamp_ns: TIME + BigInt(i), address: HIGH + BigInt(i), ...of };
}

/** What a later version may write. */
const OF_ANOTHER_DAY = "of another day" as "load";

type Read = Record<string, unknown>;

/** What is read of each row, one after the other. */
async function read(files: readonly Given<"trace">[][]): Promise<Read[]> {
  const paths = files.map((rows, i) => {
    const path = join(folder, `part-${i}.parquet`);
    writeParquetFile(path, "trace", [batchWith("trace", rows)]);
    return path;
  });
  const out: Read[] = [];
  const wide = (words: Uint32Array, i: number): bigint =>
    BigInt(words[2 * i] ?? -1) + (BigInt(words[2 * i + 1] ?? -1) << 32n);
  for await (const group of sampledRows(paths)) {
    for (let i = 0; i < group.rows; i++) {
      out.push({
        address: wide(group.address, i) - HIGH,
        time: wide(group.timestamp_ns, i) - TIME,
        region_id: group.region_id[i],
        pid: group.pid[i],
        source: group.sources[group.source[i] ?? -1],
        op: group.op[i],
        period: group.period[i],
      });
    }
  }
  return out;
}

const SAMPLE = { pid: 77, source: "pebs", op: OP.store, period: 10_007 };

test("samples are read back with all that is asked of them, file by file", async () => {
  const first = [
    row(0, { op_type: "load" }),
    row(1, { op_type: "load_store", source: "ibs", pid: 78 }),
    row(2, { op_type: "unknown", period: (1n << 40n) + 3n }),
  ];
  expect(await read([first, [row(3, { source: "watch" })], [row(4, { op_type: OF_ANOTHER_DAY })]])).toEqual([
    { ...SAMPLE, address: 0n, time: 0n, region_id: 0, op: OP.load },
    {
      ...SAMPLE,
      address: 1n,
      time: 1n,
      region_id: 1,
      op: OP.load_store,
      source: "ibs",
      pid: 78,
    },
    { ...SAMPLE, address: 2n, time: 2n, region_id: 2, op: OP.unknown, period: 2 ** 40 + 3 },
    { ...SAMPLE, address: 4n, time: 4n, region_id: 1, op: OP.unknown },
  ]);
});

test("watches are no samples, a row that stands for no number of accesses says so, and one without a period or a region is one", async () => {
  const rows = [
    row(0, { source: "watch" }),
    row(1, { source: "clock" }),
    row(2, { period: 0n }),
    row(3, { period: null, region_id: null }),
    row(4, {}),
  ];
  expect((await read([rows])).map(({ address, source, period, region_id }) => [address, source, period, region_id]))
    // The rows that are left come one after the other.
    .toEqual([
      [1n, "clock", 10_007, 1],
      [2n, "pebs", Number.NaN, 2],
      [3n, "pebs", 0, 0],
      [4n, "pebs", 10_007, 1],
    ]);
});

test("a trace without accesses has none, and one that is not there is refused", async () => {
  expect(await read([[]])).toEqual([]);
  await expect(sampledRows([join(folder, "missing.parquet")]).next()).rejects.toThrow("no such file");
});
