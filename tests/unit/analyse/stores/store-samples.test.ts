import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeSamples } from "../../../../src/analyse/stores/store-samples.ts";
import { batchFromRows, type Row } from "../../../../src/columnar/rows.ts";
import { writeParquetFile } from "../../../../src/columnar/write-parquet.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-stores-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const HIGH = 0x7f00_0000_0000n;

function row(i: number, of: Row): Row {
  const common = { region_id: i % 3, pid: 77, source: "pebs", period: 10_007n, op_type: "store" };
  return { ...common, timestamp_ns: (5n << 32n) + BigInt(i), address: HIGH + BigInt(i), ...of };
}

/** What is read of each row, one after the other. */
async function read(files: readonly Row[][]): Promise<unknown[][]> {
  const paths = files.map((rows, i) => {
    const path = join(folder, `part-${i}.parquet`);
    writeParquetFile(path, "trace", [batchFromRows("trace", rows)]);
    return path;
  });
  const out: unknown[][] = [];
  const wide = (words: Uint32Array, i: number): bigint =>
    BigInt(words[2 * i] ?? -1) + (BigInt(words[2 * i + 1] ?? -1) << 32n);
  for await (const { rows, address, timestamp_ns, region_id, pid, source, sources } of storeSamples(paths)) {
    for (let i = 0; i < rows; i++) {
      const name = sources[source[i] ?? -1];
      out.push([wide(address, i) - HIGH, wide(timestamp_ns, i) - (5n << 32n), region_id[i], pid[i], name]);
    }
  }
  return out;
}

test("samples of stores are read back with their place, time, region, process and source, file by file", async () => {
  const first = [
    row(0, { op_type: "load" }),
    row(1, {}),
    row(2, { op_type: "load_store", source: "ibs", pid: 78 }),
    row(3, { op_type: "unknown" }),
    row(4, {}),
  ];
  expect(await read([first, [row(5, { op_type: "load" })], [row(6, {})]])).toEqual([
    [1n, 1n, 1, 77, "pebs"],
    [2n, 2n, 2, 78, "ibs"],
    [4n, 4n, 1, 77, "pebs"],
    [6n, 6n, 0, 77, "pebs"],
  ]);
});

test("watches, timers and rows that stand for no access are no samples, and a row without a period is one", async () => {
  const rows = [
    row(0, { source: "watch" }),
    row(1, { source: "clock" }),
    row(2, { period: 0n }),
    row(3, { period: null }),
    row(4, { period: 1n << 40n }),
  ];
  expect((await read([rows])).map(([address]) => address)).toEqual([3n, 4n]);
});

test("a trace without accesses has none, and one that is not there is refused", async () => {
  expect(await read([[]])).toEqual([]);
  const missing = storeSamples([join(folder, "missing.parquet")]);
  await expect(missing.next()).rejects.toThrow("no such file");
});
