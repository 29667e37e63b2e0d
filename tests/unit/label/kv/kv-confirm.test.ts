import { expect, test } from "bun:test";
import type { WatchHits } from "../../../../src/label/capture/watch-hits.ts";
import { confirmRows } from "../../../../src/label/kv/kv-confirm.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";
import { ROWS } from "../../../../src/regions/kv-layout.ts";
import type { TensorLifetime } from "../../../../src/regions/tensor-map.ts";
import { OP } from "../../../../src/schema/operation.ts";
import { kvRows } from "../../../fixtures/listed-tokens.ts";

const ADDR = 0x10000n;
const ENGINE = { pid: 7, engine: "engine" };

function step(kind: string, begin_ns: number, fields: Partial<StepRow> = {}): StepRow {
  const none = { n_tokens: null, n_sequences: null, position_first: null, sequence_id: null, detail: null };
  return { ...none, ...ENGINE, kind, begin_ns, end_ns: begin_ns + 50, result: 0, ...fields };
}

const batch = (begin_ns: number, position_first: number) => step("decode", begin_ns, { position_first, n_tokens: 1 });

/** A cache tensor of eight rows of eight bytes. */
const CACHE: TensorLifetime = {
  ...ENGINE,
  name: "cache_k_l0",
  logical_id: "k0",
  tensor_type: "f16",
  shape: "4x8x1x1",
  layer: 0,
  addr: ADDR,
  size_bytes: 64n,
  buffer: 1n,
  birth_ns: 0n,
  birth_censored: false,
  evidence: "engine_probe",
  region_type: "kv_cache",
  kv_layout: ROWS,
  death_ns: null,
  ended_by: null,
  candidates: null,
};

/** A watch on the row of cell 1 that saw these stores. */
const watched = (...stores: number[]): WatchHits => ({
  watch_id: 1,
  pid: 7,
  addr: ADDR + 8n,
  mode: "rw",
  begin_ns: 10,
  end_ns: 900,
  hit_ns: Float64Array.from(stores),
  hit_op: new Uint8Array(stores.length).fill(OP.store),
  row: {} as WatchHits["row"],
});

/** Row 1 is written by the batch at 200 and lives until the cache is emptied at 500. */
const STEPS = [step("context", 0), batch(100, 0), batch(200, 1), step("kv_clear", 500)];

test("a row that a watch saw written once more while it was in the cache speaks against the steps", () => {
  const rows = kvRows(STEPS, [CACHE], 0n);
  const contradicted = (...stores: number[]) => confirmRows(rows, [watched(...stores)], STEPS).contradicted;
  expect(contradicted(210)).toBe(0);
  expect(contradicted(210, 300)).toBe(1);
  // What is written after the cache was emptied is another row.
  expect(contradicted(210, 600)).toBe(0);
});

test("where more tokens are in a cache than there is memory for none is told, and why", () => {
  expect(kvRows(STEPS, [CACHE], 0n).tokens.length).toBe(2);
  const { tokens, untold, has_no_room } = kvRows(STEPS, [CACHE], 0n, 1);
  expect([[...tokens], has_no_room]).toEqual([[], true]);
  expect(untold).toContain("the run holds more than 1 tokens in caches");
  expect(untold).toContain("--memory 2GiB");
});

test("bytes of a cache that hold a state of each sequence are told beside its rows", () => {
  const state: TensorLifetime = { ...CACHE, name: "cache_s_l1", size_bytes: 32n, kv_layout: { form: "state" } };
  expect(kvRows(STEPS, [CACHE], 0n).rowless_bytes).toBe(0);
  const rows = kvRows(STEPS, [CACHE, state], 0n);
  expect(rows.roomOf.flatMap((room) => rows.rooms[room] ?? [])).toEqual([0, 0]);
  expect(rows.rowless_bytes).toBe(32);
});
