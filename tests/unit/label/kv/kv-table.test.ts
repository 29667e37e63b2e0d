import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kvRowSamples } from "../../../../src/analyse/input/kv-samples.ts";
import type { KvRows, KvTensor } from "../../../../src/label/kv/kv-lifecycle.ts";
import { writeKvLifecycle } from "../../../../src/label/kv/kv-table.ts";
import type { KvToken } from "../../../../src/label/kv/kv-token.ts";
import { COLUMNS, ROWS, UNKNOWN_LAYOUT } from "../../../../src/regions/kv-layout.ts";
import { openDatabase } from "../../../../src/sql/database.ts";
import { tokenList } from "../../../fixtures/listed-tokens.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-kv-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Above 2^32, as every clock is after four seconds; its low word overflows with the times below. */
const ORIGIN = (7n << 32n) + 0xffff_ff00n;

function token(position: number | null, of: Partial<KvToken> = {}): KvToken {
  const ends = { last_read_ns: null, evict_ns: null, total_reads: 0 };
  return {
    pid: 7,
    engine: "engine",
    context: null,
    sequence: 0,
    filling: 0,
    writes: "once",
    position,
    cell: position,
    reads: [],
    write_ns: 1000,
    is_written: true,
    written_by_ns: 1100,
    ...{ end: null, shared_with: [], requests: null },
    ...ends,
    ...of,
  };
}

function tensor(name: string, of: Partial<KvTensor> = {}): KvTensor {
  const life = { birth_ns: 0, death_ns: Number.POSITIVE_INFINITY };
  const size = { row_bytes: 256, cells: 64, element_bytes: 2 };
  return {
    pid: 7,
    engine: "engine",
    name,
    layer: 0,
    context: null,
    streams: 1,
    addr: 0x7fff_ffff_ff00n,
    layout: ROWS,
    ...size,
    ...life,
    ...of,
  };
}

/** Every token in every tensor. */
function everyRow(tokens: readonly KvToken[], tensors: readonly KvTensor[], confirmed: readonly number[] = []): KvRows {
  return {
    tokens: tokenList(tokens),
    tensors,
    rooms: [tensors.map((_, k) => k)],
    roomOf: tokens.map(() => 0),
    confirmed: new Set(confirmed),
    contradicted: 0,
    copies: [],
    rowless_bytes: 0,
    early: null,
    untold: null,
  };
}

async function written(rows: KvRows): Promise<Record<string, unknown>[]> {
  writeKvLifecycle(folder, rows, ORIGIN);
  const path = join(folder, "kv_block_lifecycle.parquet");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await using database = await openDatabase();
  return await database.rows(`SELECT * FROM read_parquet('${path}') ORDER BY block_id`);
}

test("a row has its bytes, its times and its life, whatever the words that they cross", async () => {
  const end = { by: "preempted", left_prefix_cache: true } as const;
  const read = token(1, {
    last_read_ns: 5000,
    evict_ns: 9000,
    total_reads: 3,
    end,
    requests: '["a","b"]',
    shared_with: [4, 2],
  });
  const tensors = [
    tensor("cache_k_l0", { addr: 0x7fff_ffff_ff00n }),
    tensor("cache_v_l0", { addr: 1n << 56n, layout: COLUMNS, layer: null }),
    tensor("cache_k_l1", { layout: UNKNOWN_LAYOUT, layer: 1, death_ns: 7000 }),
  ];
  const rows = await written(everyRow([read], tensors, [1]));
  const common = {
    write_ns: ORIGIN + 1000n,
    last_read_ns: ORIGIN + 5000n,
    total_reads: 3n,
    pid: 7,
    position: 1,
    size_bytes: 256n,
    context: null,
    sequence_id: 0,
    shared_with: "[4,2]",
    filling: 0,
    requests: '["a","b"]',
    ended_by: "preempted",
    left_prefix_cache: true,
    moves: 0n,
  };
  const k = { address: 0x8000_0000_0000n, address_page: 0x8_0000_0000n, layer: 0, tensor: "cache_k_l0" };
  const v = { address: (1n << 56n) + 2n, address_page: 1n << 44n, layer: null, tensor: "cache_v_l0" };
  const none = { address: null, address_page: null, layer: 1, tensor: "cache_k_l1" };
  const evicted = { evict_ns: ORIGIN + 9000n, lifetime_ns: 8000n };
  expect(rows).toEqual([
    { ...common, ...k, ...evicted, block_id: 1n, evidence: "step" },
    { ...common, ...v, ...evicted, block_id: 2n, evidence: "watch" },
    { ...common, ...none, evict_ns: ORIGIN + 7000n, lifetime_ns: 6000n, block_id: 3n, evidence: "step" },
  ]);
});

test("a row of a cache that moves was copied by every batch that read it", async () => {
  const rows = await written(everyRow([token(1, { total_reads: 3, is_moved: true })], [tensor("cache_k_l0")]));
  expect(rows.map(({ total_reads, moves }) => [total_reads, moves])).toEqual([[3n, 3n]]);
});

test("rows that were there are left out, the others numbered without a gap; what is not known is null, or 0 for a read", async () => {
  const tokens = [token(0, { is_written: false }), token(null), token(64), token(3, { last_read_ns: 4000 })];
  const rows = await written(everyRow(tokens, [tensor("cache_k_l0")]));
  expect(rows.every((row) => row.ended_by === null && row.left_prefix_cache === null && row.requests === null)).toBe(
    true,
  );
  expect(rows.map(({ shared_with }) => shared_with)).toEqual([null, null, null]);
  expect(rows.map((row) => [row.block_id, row.position, row.address, row.last_read_ns, row.evict_ns, row.lifetime_ns]))
    // Position 64 lies beyond the tensor.
    .toEqual([
      [1n, null, null, 0n, null, 0n],
      [2n, 64, null, 0n, null, 0n],
      [3n, 3, 0x8000_0000_0200n, ORIGIN + 4000n, null, 3000n],
    ]);
});

test("a cache without a row has an empty file", async () => {
  expect(await written(everyRow([], []))).toEqual([]);
});

test("a token is one sample for the metrics, two where some of its rows went with their tensor", () => {
  const tensors = [tensor("a"), tensor("b", { row_bytes: 100 }), tensor("c", { death_ns: 7000 })];
  const tokens = [token(0), token(1, { evict_ns: 6000, total_reads: 2, last_read_ns: 3000 })];
  const samples = kvRowSamples(everyRow(tokens, tensors));
  expect(Array.from(samples, (row) => [row.size_bytes, row.evict_ns, row.total_reads, row.last_read_ns])).toEqual([
    [356, Number.NaN, 0, Number.NaN],
    [256, 7000, 0, Number.NaN],
    [612, 6000, 2, 3000],
  ]);
});
