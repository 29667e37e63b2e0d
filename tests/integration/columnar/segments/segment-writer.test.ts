import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { Batch } from "../../../../src/columnar/batch.ts";
import { blockReader } from "../../../../src/columnar/blocks.ts";
import { openClosing } from "../../../../src/columnar/segments/closing.ts";
import { type Encoder, openEncoder } from "../../../../src/columnar/segments/encoder.ts";
import { openSegmentWriter } from "../../../../src/columnar/segments/segment-writer.ts";
import { writeParquetFile } from "../../../../src/columnar/write/parquet-writer.ts";
import { MrmTraceError } from "../../../../src/errors.ts";
import { listSegments } from "../../../../src/run-directory/segment-files.ts";
import { balances } from "../../../../src/schema/ledger.ts";
import { SCHEMA_VERSION_KEY } from "../../../../src/schema/versions.ts";
import { encodeParquet } from "../../../fixtures/encode-parquet.ts";
import { readStream } from "../../../fixtures/parquet-by-wasm.ts";
import { waitUntil } from "../../../fixtures/wait-until.ts";
import { addressModel, faultBlocks } from "../../../performance/address-model.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-segments-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let runs = 0;

function newRun(): { run: string; dir: string } {
  const run = join(root, `run-${runs++}`);
  return { run, dir: join(run, "capture", "fault") };
}

function faults(rows: number, seed = 1): Batch {
  return blockReader("fault")(faultBlocks(addressModel(rows, seed)));
}

function rowsIn(run: string): number {
  let rows = 0;
  for (const batch of readStream(run, "fault")) rows += batch.rows;
  return rows;
}

function addresses(batch: Batch): BigUint64Array {
  const column = batch.columns.address;
  if (column === undefined || !("data" in column)) throw new Error("no addresses");
  return column.data as BigUint64Array;
}

describe("a segment writer", () => {
  test("closes segments by size and keeps every row in order, in files that only their owner reads", async () => {
    const { run, dir } = newRun();
    await using encoder = openEncoder();
    const writer = openSegmentWriter({ encoder, dir, table: "fault", maxRows: 1000 });
    const batch = faults(2500);
    writer.append(batch);
    writer.append(batch);
    const account = await writer.close();
    expect(account).toMatchObject([{ seen: 5000, kept: 5000, dropped: 0 }]);
    const segments = listSegments(run, "fault");
    expect(segments.map((segment) => segment.sequence)).toEqual([0, 1, 2, 3, 4]);
    for (const { path } of segments) expect(statSync(path).mode & 0o777).toBe(0o600);
    const read = [...readStream(run, "fault")].flatMap((part) => Array.from(addresses(part)));
    const sent = Array.from(addresses(batch));
    expect(read).toEqual([...sent, ...sent]);
  });

  test("closes a segment by time although no further batch comes", async () => {
    const { run, dir } = newRun();
    await using encoder = openEncoder();
    const closing = openClosing({ encoder, maxAgeNs: 20e6 });
    const writer = openSegmentWriter({ encoder, dir, table: "fault", closing });
    writer.append(faults(10));
    expect(await waitUntil(() => writer.account()[0]?.kept === 10)).toBe(true);
    expect(listSegments(run, "fault")).toHaveLength(1);
    expect(await writer.close()).toMatchObject([{ seen: 10, kept: 10 }]);
  });

  test("by itself closes one as soon as the queue has no room for twice the rows", async () => {
    const { run, dir } = newRun();
    await using encoder = openEncoder({ maxQueueBytes: 1024 * 38 + 1 });
    const writer = openSegmentWriter({ encoder, dir, table: "fault" });
    writer.append(faults(1023));
    expect(encoder.queuedBytes).toBe(0);
    writer.append(faults(1));
    expect(encoder.queuedBytes).toBe(1024 * 38);
    await writer.close();
    expect(listSegments(run, "fault")).toHaveLength(1);
  });

  test("drops and counts what finds no room in the queue, and keeps the rest readable", async () => {
    const { run, dir } = newRun();
    const release: (() => void)[] = [];
    await using real = openEncoder({ maxQueueBytes: 1 });
    const slow: Encoder = {
      ...real,
      maxQueueBytes: 1,
      accepts: () => release.length === 0,
      async submit(segments, note) {
        await new Promise<void>((go) => release.push(go));
        return real.submit(segments, note);
      },
    };
    const writer = openSegmentWriter({ encoder: slow, dir, table: "fault", maxRows: 1000 });
    const batch = faults(1000);
    for (let i = 0; i < 5; i++) writer.append(batch);
    expect(writer.account()).toMatchObject([{ dropped_by: { writer_queue: 3000 } }]);
    const closing = writer.close();
    for (const go of release) go();
    const account = await closing;
    expect(account).toMatchObject([{ seen: 5000, kept: 2000, dropped: 3000 }]);
    expect(account.every(balances)).toBe(true);
    expect(rowsIn(run)).toBe(2000);
  });

  test("on a full disk counts the lost rows, says what to do, and what was written stays readable", async () => {
    const { run, dir } = newRun();
    mkdirSync(dir, { recursive: true });
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", dir]);
    expect(mounted.stderr.toString()).toBe("");
    try {
      await using encoder = openEncoder();
      const writer = openSegmentWriter({ encoder, dir, table: "fault", maxRows: 2560 });
      const batch = faults(2560);
      for (let i = 0; i < 6; i++) writer.append(batch);
      const [account] = await writer.close();
      if (account === undefined) throw new Error("no account");
      expect(balances(account)).toBe(true);
      expect(account.kept).toBeGreaterThan(0);
      expect(account.dropped_by.disk_full).toBe(15360 - account.kept);
      expect(writer.error).toBeInstanceOf(MrmTraceError);
      expect(writer.error?.exitCode).toBe(3);
      expect(writer.error?.message).toContain("ENOSPC");
      expect(rowsIn(run)).toBe(account.kept);
      expect(readdirSync(dir).filter((name) => name.endsWith(".partial"))).toEqual([]);
    } finally {
      spawnSync("umount", [dir]);
    }
  });

  test("says of a disk without room for another folder that it is full, and not that it cannot be written", async () => {
    const { dir } = newRun();
    mkdirSync(dir, { recursive: true });
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "nr_inodes=1", "tmpfs", dir]);
    expect(mounted.stderr.toString()).toBe("");
    try {
      await using encoder = openEncoder();
      const opened = () => openSegmentWriter({ encoder, dir: join(dir, "fault"), table: "fault" });
      expect(opened).toThrow(
        expect.objectContaining({
          code: "environment",
          exitCode: 3,
          message: expect.stringContaining("ENOSPC"),
          hint: expect.stringContaining("free some space"),
        }),
      );
    } finally {
      spawnSync("umount", [dir]);
    }
  });

  test("refuses a batch that does not fit its table, and counts a segment that cannot be encoded", async () => {
    const { dir } = newRun();
    await using encoder = openEncoder();
    const writer = openSegmentWriter({ encoder, dir, table: "fault" });
    const batch = faults(10);
    const wrong = { ...batch, columns: { ...batch.columns, ip: { data: new Uint32Array(10) } } };
    expect(() => writer.append(wrong)).toThrow(MrmTraceError);
    const { ip: _, ...rest } = batch.columns;
    const other = openSegmentWriter({ encoder, dir, table: "fault" });
    other.append({ ...batch, columns: rest });
    const account = await other.close();
    expect(account).toMatchObject([{ dropped_by: { write_error: 10 } }]);
    expect(other.error?.message).toContain("column ip");
  });

  test("counts what comes after its end, and a worker that is gone", async () => {
    const { dir } = newRun();
    const encoder = openEncoder();
    const closed = openSegmentWriter({ encoder, dir, table: "fault" });
    await closed.close();
    closed.append(faults(7));
    expect(closed.account()).toMatchObject([{ seen: 7, dropped_by: { writer_closed: 7 } }]);
    const orphan = openSegmentWriter({ encoder, dir, table: "fault" });
    orphan.append(faults(9));
    await encoder[Symbol.asyncDispose]();
    expect(await orphan.close()).toMatchObject([{ dropped_by: { write_error: 9 } }]);
    expect(orphan.error).toBeInstanceOf(MrmTraceError);
  });

  test("killed without warning leaves every closed segment readable and no half file among them", async () => {
    const { run, dir } = newRun();
    const script = join(root, "killed.ts");
    const from = (path: string) => JSON.stringify(new URL(`../../../../${path}`, import.meta.url).pathname);
    writeFileSync(
      script,
      `import { blockReader } from ${from("src/columnar/blocks.ts")};
import { openEncoder } from ${from("src/columnar/segments/encoder.ts")};
import { openSegmentWriter } from ${from("src/columnar/segments/segment-writer.ts")};
import { addressModel, faultBlocks } from ${from("tests/performance/address-model.ts")};
const batch = blockReader("fault")(faultBlocks(addressModel(4096, 1)));
const encoder = openEncoder();
const writer = openSegmentWriter({ encoder, dir: ${JSON.stringify(dir)}, table: "fault", maxRows: 4096 });
for (;;) { writer.append(batch); await Bun.sleep(1); }
`,
    );
    const child = Bun.spawn([process.execPath, script], { stdout: "ignore", stderr: "inherit" });
    await waitUntil(() => listSegments(run, "fault").length >= 5);
    child.kill("SIGKILL");
    await child.exited;
    const segments = listSegments(run, "fault").length;
    expect(segments).toBeGreaterThanOrEqual(5);
    expect(rowsIn(run)).toBe(segments * 4096);
  });
});

describe("a segment that is read", () => {
  test("refuses another major schema version with what to do, and accepts another minor one", () => {
    const { run, dir } = newRun();
    mkdirSync(dir, { recursive: true });
    const write = (version: string) =>
      writeFileSync(
        join(dir, "1-0.parquet"),
        encodeParquet("fault", [faults(10)], new Map([[SCHEMA_VERSION_KEY, version]])),
      );
    write("1.9");
    expect(rowsIn(run)).toBe(10);
    write("2.0");
    expect(() => rowsIn(run)).toThrow(/schema version 2\.0/);
  });
});

test("DuckDB reads the same rows, types and metadata as were written", async () => {
  const path = join(root, "duckdb.parquet");
  const top = 2n ** 64n - 1n;
  const strings = { codes: Uint32Array.of(0, 1, 0), values: ["", "fünf"] };
  const columns: Batch["columns"] = {
    timestamp_ns: { data: BigUint64Array.of(0n, top, 1n) },
    address: { data: BigUint64Array.of(top, 0n, 2n ** 63n) },
    op_type: strings,
    ip: { data: BigUint64Array.of(top, 0n, top) },
    pid: { data: Uint32Array.of(2 ** 32 - 1, 0, 1) },
    tid: { data: Uint32Array.of(0, 2 ** 32 - 1, 2 ** 31) },
    cpu: { data: Uint16Array.of(65535, 0, 1) },
    source: strings,
    period: { data: BigUint64Array.of(1n, top, 0n) },
    watch_id: { data: Uint32Array.of(9, 8, 7), valid: Uint8Array.of(1, 0, 1) },
    in_kernel: { data: Uint8Array.of(0, 1, 0) },
    op_evidence: strings,
  };
  writeParquetFile(path, "access", [{ table: "access", rows: 3, columns }]);
  const connection = await (await DuckDBInstance.create()).connect();
  const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();
  expect(
    await rows(
      `select timestamp_ns, address, op_type, ip, pid, tid, cpu, watch_id, in_kernel, data_src from '${path}'`,
    ),
  ).toEqual([
    ["0", String(top), "", String(top), 2 ** 32 - 1, 0, 65535, 9, false, null],
    [String(top), "0", "fünf", "0", 0, 2 ** 32 - 1, 0, null, true, null],
    ["1", String(2n ** 63n), "", String(top), 1, 2 ** 31, 1, 7, false, null],
  ]);
  const types = await rows(
    `select column_name, column_type from (describe select op_type, timestamp_ns from '${path}')`,
  );
  expect(types).toEqual([
    ["op_type", "VARCHAR"],
    ["timestamp_ns", "UBIGINT"],
  ]);
  const keys = await rows(`select decode(key), decode(value) from parquet_kv_metadata('${path}')`);
  expect(keys).toContainEqual([SCHEMA_VERSION_KEY, "1.0"]);
  connection.closeSync();
});
