import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RecordedFacts } from "../../../src/analyse/input/load.ts";
import { type AnalysisResult, analyseRun } from "../../../src/analyse/pipeline.ts";
import { columnsOf } from "../../../src/schema/columns.ts";
import { type Database, openDatabase } from "../../../src/sql/database.ts";
import type { Given } from "../../fixtures/row-with.ts";
import { ORIGIN, writeHandMadeRun, writeStream } from "../label/hand-made-run.ts";

const FACTS: RecordedFacts = {
  run_id: "hand",
  ledger: [],
  trap_cost_ns: 16_000,
  seed: 1,
  sight: [],
};
const DERIVED = [
  "trace/part-00000.parquet",
  "region_map.parquet",
  "kv_block_lifecycle.parquet",
  "metrics.parquet",
  "curves.parquet",
  "region_metrics.parquet",
  "heat.parquet",
];

function digests(runDir: string): string[] {
  return DERIVED.map((name) =>
    createHash("sha256")
      .update(readFileSync(join(runDir, name)))
      .digest("hex"),
  );
}

describe("analyseRun on a run known by hand", () => {
  let runDir = "";
  let result: AnalysisResult;
  let database: Database;

  beforeAll(async () => {
    runDir = writeHandMadeRun();
    result = await analyseRun(runDir, FACTS);
    database = await openDatabase();
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
    rmSync(runDir, { recursive: true });
  });
  const rows = (file: string, columns: string, tail = "") =>
    database.rows(`SELECT ${columns} FROM read_parquet('${join(runDir, file)}') ${tail}`);

  test("labels every access by address and time, in order of time", async () => {
    const trace = await rows(
      "trace.parquet",
      "sample_id, region_type, tensor, phase, step, token_index, context_tokens",
    );
    expect(trace.map((row) => Object.values(row).slice(1))).toEqual([
      ["weight", "w", "weight_load", null, null, null],
      ["kv_cache", "cache_k_l0", "generation", "prefill", null, 2],
      ["kv_cache", "cache_k_l0", "generation", "prefill", null, 2],
      ["unknown", null, "generation", null, null, null],
      ["kv_cache", "cache_k_l0", "generation", "decode", 0, 3],
      ["weight", "w", "generation", "decode", 0, 3],
      ["kv_cache", "cache_k_l0", "generation", "decode", 1, 4],
      ["runtime", null, "generation", "decode", 1, 4],
      ["runtime", null, "idle", null, null, null],
    ]);
    expect(trace.map((row) => row.sample_id)).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n]);
  });

  test("gives every derived file exactly the columns of its table, in order", async () => {
    for (const [file, table] of [
      ["trace/part-00000.parquet", "trace"],
      ["region_map.parquet", "region_map"],
      ["kv_block_lifecycle.parquet", "kv_block_lifecycle"],
      ["metrics.parquet", "metrics"],
      ["curves.parquet", "curves"],
      ["region_metrics.parquet", "region_metrics"],
      ["heat.parquet", "heat"],
    ] as const) {
      const described = await database.rows(`DESCRIBE SELECT * FROM read_parquet('${join(runDir, file)}')`);
      expect(described.map((row) => row.column_name)).toEqual(columnsOf(table).map((column) => column.name));
      expect(statSync(join(runDir, file)).mode & 0o777).toBe(0o600);
    }
  });

  test("maps every byte once, with its evidence", async () => {
    const columns = "region_type, evidence, size_bytes, mapping_kind, access_count, death_ns - birth_ns AS life";
    const regions = await rows("region_map.parquet", columns);
    const life = 90_000_000n;
    const beforeTensors = 1_000_000n;
    expect(regions.map((row) => Object.values(row))).toEqual([
      ["runtime", "mapping", 4096n, "file", 1n, life],
      ["runtime", "mapping", 4096n, "file", 0n, beforeTensors],
      ["weight", "engine_probe", 4096n, "file", 2n, life - beforeTensors],
      ["runtime", "mapping", 256n, "anon", 0n, beforeTensors],
      ["kv_cache", "engine_probe", 256n, "anon", 4n, life - beforeTensors],
      ["runtime", "mapping", 3840n, "anon", 0n, life],
      ["runtime", "mapping", 4096n, "anon", 1n, life],
    ]);
  });

  test("follows each KV row from its write to the clear and confirms the watched one", async () => {
    const columns = "position, write_ns, last_read_ns, evict_ns, total_reads, size_bytes, evidence";
    const kv = await rows("kv_block_lifecycle.parquet", columns, "ORDER BY position");
    const ms = (value: unknown) => Number((value as bigint) - ORIGIN) / 1e6;
    expect(
      kv.map((r) => [
        r.position,
        ms(r.write_ns),
        r.last_read_ns === 0n ? 0 : ms(r.last_read_ns),
        ms(r.evict_ns),
        r.total_reads,
        r.size_bytes,
        r.evidence,
      ]),
    ).toEqual([
      [0, 20, 60, 80, 2n, 64n, "watch"],
      [1, 20, 60, 80, 2n, 64n, "step"],
      [2, 40, 60, 80, 1n, 64n, "step"],
      [3, 60, 0, 80, 0n, 64n, "step"],
    ]);
  });

  test("sums sampled accesses by their period, per token and class, and leaves watches out", () => {
    const decode = result.input.accessSums.filter((sum) => sum.step === "decode");
    expect(decode.map((sum) => [sum.region_type, [...sum.loads], [...sum.stores], sum.seen[0]])).toEqual([
      ["runtime", [0, 10], [0, 0], { grain_bytes: 64, distinct: 1, once: 1, twice: 0 }],
      ["weight", [10, 0], [0, 0], { grain_bytes: 64, distinct: 1, once: 1, twice: 0 }],
    ]);
    expect(result.input.watches[0]?.hit_ns.length).toBe(3);
    expect(result.input.watches[0]?.region_type).toBe("kv_cache");
  });

  test("has every row of the trace in a cell of the heat, with the time for which it was watched", async () => {
    const sums = await rows(
      "heat.parquet",
      "source, sum(rows) AS n, sum(watched_ns) AS watched",
      "GROUP BY 1 ORDER BY 1",
    );
    const counted = await rows("trace.parquet", "source, count(*) AS n", "GROUP BY 1 ORDER BY 1");
    expect(sums.map(({ source, n }) => [source, Number(n)])).toEqual(
      counted.map(({ source, n }) => [source, Number(n)]),
    );
    const [watch] = result.input.watches;
    const watched = sums.find(({ source }) => source === "watch")?.watched;
    expect(Number(watched)).toBe((watch?.end_ns ?? 0) - (watch?.begin_ns ?? 0));
    const misplaced = await rows(
      "heat.parquet",
      "count(*) AS n",
      `AS h JOIN read_parquet('${join(runDir, "region_map.parquet")}') AS r USING (region_id)
       WHERE h.addr + h.size_bytes <= r.addr OR h.addr >= r.addr + r.size_bytes`,
    );
    expect(misplaced).toEqual([{ n: 0n }]);
  });

  test("compares the budgets of a run that had two by turns, and of no other", async () => {
    const turns = Array.from({ length: 12 }, (_, i) => ({
      begin_ns: ORIGIN + BigInt(7e6 * i),
      budget_pct: i % 2 === 0 ? 1 : 0.25,
    }));
    expect(result.invariance).toBeNull();
    const { invariance } = await analyseRun(runDir, { ...FACTS, budget_turns: turns });
    // Its one watch is no figure.
    expect(invariance).toMatchObject({ whole_pct: 1, reduced_pct: 0.25, turns: 12, figures: [] });
    expect((await analyseRun(runDir, { ...FACTS, budget_turns: turns.slice(0, 6) })).invariance).toBeNull();
  });

  test("gives the same bytes when it runs again", async () => {
    const before = digests(runDir);
    await analyseRun(runDir, FACTS);
    expect(digests(runDir)).toEqual(before);
    expect(readdirSync(runDir).filter((name) => name.includes("unfinished"))).toEqual([]);
  });
});

test("samples of stores tell how often pages were written, where they are dense", async () => {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-stores-"));
  try {
    const [addr, page] = [0x7f0000000000n, 4096n];
    const ids: Given<"access"> = { pid: 77, tid: 77 };
    writeStream(runDir, "mapping", [
      {
        ...ids,
        timestamp_ns: ORIGIN,
        exec_epoch: 0,
        kind: "mmap",
        addr,
        result: addr,
        size_bytes: 64n * page,
        prot: 3,
        flags: 0x22,
      },
    ]);
    // Sixty pages, each filled in 12 us; every third is filled again 1 ms later.
    const fills = Array.from({ length: 60 }, (_, i) =>
      (i % 3 === 0 ? [0n, 1_000_000n] : [0n]).map((ns) => [i, ns] as const),
    );
    const rows = fills.flat().flatMap(([i, ns]) =>
      Array.from({ length: 12 }, (_, k) => ({
        ...ids,
        timestamp_ns: ORIGIN + 10_000n + BigInt(i) * 20_000n + ns + BigInt(k) * 1000n,
        address: addr + BigInt(i) * page + BigInt(k) * 300n,
        op_type: "store" as const,
        ip: 0x10n,
        cpu: 0,
        source: "pebs" as const,
        period: 43n,
        in_kernel: false,
        op_evidence: "data_src" as const,
      })),
    );
    writeStream(
      runDir,
      "access",
      rows.sort((a, b) => Number(a.timestamp_ns - b.timestamp_ns)),
    );
    const { metrics } = await analyseRun(runDir, { ...FACTS, unshadowed: ["stores"] });
    const ratios = metrics.filter((row) => row.metric === "write_once_ratio" && row.source === "pebs");
    expect(ratios.map(({ grain_bytes, status, n }) => [grain_bytes, status, n])).toEqual([
      [4096, "ok", 60],
      [65_536, "insufficient", 4],
      [2_097_152, "insufficient", 1],
    ]);
    expect(ratios[0]?.value).toBeCloseTo(2 / 3, 12);
    expect(ratios[0]?.lo ?? 1).toBeLessThan(0.6);
    expect(ratios[0]?.hi ?? 0).toBeGreaterThan(0.75);
  } finally {
    rmSync(runDir, { recursive: true });
  }
});

test("segments that are cut or no Parquet at all are skipped, named and counted", async () => {
  const runDir = writeHandMadeRun();
  const cut = writeStream(
    runDir,
    "access",
    [
      {
        timestamp_ns: ORIGIN,
        address: 1n,
        op_type: "load",
        ip: 1n,
        pid: 77,
        tid: 77,
        cpu: 0,
        source: "pebs",
        period: 1n,
        in_kernel: false,
        op_evidence: "none",
      },
    ],
    1,
  );
  truncateSync(cut, 100);
  writeFileSync(join(runDir, "capture", "step", "1-9.parquet"), "not parquet");
  const result = await analyseRun(runDir, FACTS);
  expect(result.warnings.length).toBe(2);
  expect(result.traceRows).toBe(9);
  rmSync(runDir, { recursive: true });
});

/** Times that lie farther apart are not told exactly. */
const LONGEST_DAYS = 104n;

test("a time that is a month after all others costs no more than they do, and a century is refused as soon", async () => {
  for (const days of [30n, 36_500n]) {
    const runDir = writeHandMadeRun();
    rmSync(join(runDir, "capture", "step"), { recursive: true });
    const late: Given<"access"> = {
      timestamp_ns: ORIGIN + days * 86_400_000_000_000n,
      address: 1n,
      op_type: "load",
      ip: 1n,
    };
    const ids: Given<"access"> = {
      pid: 77,
      tid: 77,
      cpu: 0,
      source: "pebs",
      period: 1n,
      in_kernel: false,
      op_evidence: "none",
    };
    writeStream(runDir, "access", [{ ...late, ...ids }], 1);
    const began_ms = performance.now();
    if (days > LONGEST_DAYS) {
      const error: unknown = await analyseRun(runDir, FACTS).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: "data_quality", message: expect.stringContaining(`${days} days apart`) });
    } else {
      const { input, traceRows } = await analyseRun(runDir, FACTS);
      expect(traceRows).toBe(10);
      expect(input.accessSums.map(({ loads }) => loads.length)).not.toContain(0);
    }
    expect(performance.now() - began_ms).toBeLessThan(60_000);
    rmSync(runDir, { recursive: true });
  }
}, 120_000);

test("a folder without capture is refused with the fix", async () => {
  await expect(analyseRun("/nonexistent-run", FACTS)).rejects.toThrow("no capture folder");
  expect(existsSync("/nonexistent-run")).toBe(false);
});
