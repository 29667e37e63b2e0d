import { afterEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { labelRun } from "../../../../src/label/label-run.ts";
import { openDatabase } from "../../../../src/sql/database.ts";
import type { Given } from "../../../fixtures/row-with.ts";
import { ORIGIN, writeStream } from "../hand-made-run.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newRun(): string {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-trace-"));
  folders.push(runDir);
  return runDir;
}

const HEAP = 0x7f0000000000n;
const HEAP_MAPPING = { addr: HEAP, result: HEAP, size_bytes: 4096n, prot: 3, flags: 0x22 };
const MAPPING: Given<"mapping"> = {
  timestamp_ns: ORIGIN,
  pid: 7,
  tid: 7,
  exec_epoch: 0,
  kind: "mmap",
  ...HEAP_MAPPING,
};

function access(time: bigint, more: Given<"access"> = {}): Given<"access"> {
  const where = { timestamp_ns: ORIGIN + time, address: HEAP + time, ip: 0x10n + (time % 3n), pid: 7, tid: 8, cpu: 0 };
  return { ...where, op_type: "load", source: "pebs", period: 1n, in_kernel: false, op_evidence: "none", ...more };
}

/** Words that a later version may write, or a file that nobody of ours wrote. */
function foreign(words: Readonly<Record<string, unknown>>): Given<"access"> {
  return words as Given<"access">;
}

/** Labels the run; returns the rows of its trace in their order. */
async function traceOf(runDir: string, columns: string) {
  await using database = await openDatabase({ threads: 1 });
  const labelled = await labelRun(database, runDir, "run");
  const { trace } = labelled;
  const files = trace.parts.map((part) => `'${part}'`).join(", ");
  const rows = await database.rows(`SELECT ${columns} FROM read_parquet([${files}])`);
  const regions = await database.rows(
    `SELECT access_count, first_seen_ns, last_seen_ns FROM read_parquet('${join(runDir, "region_map.parquet")}')`,
  );
  return { trace, rows, regions };
}

test("accesses of segments that overlap in time come in order of time, then of CPU, each once", async () => {
  const runDir = newRun();
  writeStream(runDir, "mapping", [MAPPING]);
  const times = Array.from({ length: 3000 }, (_, i) => BigInt((i * 7919) % 1000));
  for (let segment = 0; segment < 3; segment++) {
    const own = times.slice(segment * 1000, (segment + 1) * 1000);
    writeStream(
      runDir,
      "access",
      own.map((time, i) => access(time, { cpu: (i + segment) % 4 })),
      segment,
    );
  }
  const { trace, rows, regions } = await traceOf(
    runDir,
    "timestamp_ns, cpu_id, sample_id, address_page, region_id, ip",
  );
  expect(trace).toMatchObject({ rows: 3000, incomplete: 0 });
  expect(rows.map((row) => row.sample_id)).toEqual(rows.map((_, i) => BigInt(i)));
  const keys = rows.map((row) => (row.timestamp_ns as bigint) * 4n + BigInt(Number(row.cpu_id)));
  expect(keys.every((key, i) => i === 0 || key >= (keys[i - 1] ?? 0n))).toBe(true);
  expect(new Set(rows.map((row) => row.address_page))).toEqual(new Set([HEAP >> 12n]));
  expect(rows.every((row) => row.ip === 0x10n + (((row.timestamp_ns as bigint) - ORIGIN) % 3n))).toBe(true);
  expect(regions).toEqual([{ access_count: 3000n, first_seen_ns: ORIGIN, last_seen_ns: ORIGIN + 999n }]);
});

test("words that no source of ours writes stay what they are", async () => {
  const runDir = newRun();
  writeStream(runDir, "access", [
    access(0n),
    access(1n, foreign({ op_type: "swap", source: "future" })),
    access(2n, { op_type: "store", watch_id: 0, weight_cycles: 0, source: "watch" }),
    access(3n, foreign({ op_type: "", watch_id: 9, weight_cycles: 4_000_000_000, data_src: 1n << 33n })),
  ]);
  const columns =
    "op_type, source, watch_id, weight_cycles, cache_level, region_type, region_id, confidence, access_latency_ns";
  const { rows } = await traceOf(runDir, columns);
  const nowhere = ["unknown", 0, 0, null];
  expect(rows.map((row) => Object.values(row))).toEqual([
    ["load", "pebs", null, null, null, ...nowhere],
    ["swap", "future", null, null, null, ...nowhere],
    ["store", "watch", 0, 0, null, ...nowhere],
    ["", "pebs", 9, 4_000_000_000, "L1", ...nowhere],
  ]);
});

test("rows that lack a required value are left out and counted", async () => {
  const runDir = newRun();
  const sound = writeStream(runDir, "access", [access(0n), access(2n)]);
  mkdirSync(join(runDir, "capture", "access"), { recursive: true });
  const holed = join(runDir, "capture", "access", `${ORIGIN}-1.parquet`);
  await using database = await openDatabase({ threads: 1 });
  await database.run(
    `COPY (SELECT * REPLACE (nullif(timestamp_ns, ${ORIGIN}) + 1 AS timestamp_ns) FROM read_parquet('${sound}')) TO '${holed}' (FORMAT parquet)`,
  );
  const { trace, rows } = await traceOf(runDir, "timestamp_ns");
  expect(rows.map((row) => Number((row.timestamp_ns as bigint) - ORIGIN))).toEqual([0, 2, 3]);
  expect(trace).toMatchObject({ rows: 3, incomplete: 1 });
});
