import { expect, test } from "bun:test";
import type { KvTensor } from "../../../../src/label/kv/kv-lifecycle.ts";
import { SEVERAL_CACHES } from "../../../../src/label/kv/kv-tokens.ts";
import { windowCache } from "../../../../src/label/kv/window-caches.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";
import { ROWS } from "../../../../src/regions/kv-layout.ts";
import type { TensorLifetime } from "../../../../src/regions/tensor-map.ts";
import type { ModelFacts } from "../../../../src/schema/model-facts.ts";
import { kvRows } from "../../../fixtures/listed-tokens.ts";

const ENGINE = { pid: 7, engine: "engine" };
const MODEL = { layers: 2, window_tokens: 4, window_layers: [0] } as unknown as ModelFacts;
const LISTS = [[0], [1]];

function step(kind: string, begin_ns: number, fields: Partial<StepRow> = {}): StepRow {
  const none = { n_tokens: null, n_sequences: null, position_first: null, sequence_id: null, detail: null };
  return { ...none, ...ENGINE, kind, begin_ns, end_ns: begin_ns + 5, result: 0, ...fields };
}

const settings = (kv_lists: unknown) =>
  step("engine", 1, { detail: JSON.stringify({ settings: { kv_caches: 2, kv_lists } }) });
const detail = JSON.stringify({ context: "0xa" });
const batch = (begin_ns: number, position_first: number, n_tokens = 1) =>
  step("decode", begin_ns, { position_first, n_tokens, detail });
const change = (kind: string, begin_ns: number, facts: object) =>
  step(kind, begin_ns, { sequence_id: 0, detail: JSON.stringify({ context: "0xa", ...facts }) });

function tensor(layer: number, cells: number): TensorLifetime {
  const name = `cache_k_l${layer}`;
  return {
    ...{ ...ENGINE, name, logical_id: name, tensor_type: "f16", shape: `4x${cells}x1x1`, layer, buffer: 1n },
    ...{ addr: BigInt(0x10000 * (layer + 1)), size_bytes: BigInt(8 * cells), birth_ns: 0n, birth_censored: false },
    ...{ evidence: "engine_probe", region_type: "kv_cache", kv_layout: ROWS, death_ns: null, ended_by: null },
    candidates: null,
  };
}

const TENSORS = [tensor(0, 8), tensor(1, 64)];
const rowsOf = (steps: readonly StepRow[], model: ModelFacts | null = MODEL) =>
  kvRows(
    [step("context", 0, { result: 0xa }), settings(LISTS), ...steps],
    TENSORS,
    0n,
    Number.POSITIVE_INFINITY,
    model,
  );

/** [position, needs, end] of the rows of a layer. */
const livesOf = (steps: readonly StepRow[], layer: number) => {
  const rows = rowsOf(steps);
  expect(rows.untold).toBeNull();
  return rows.tokens.flatMap(({ position, total_reads, evict_ns }, t) =>
    (rows.rooms[rows.roomOf[t] ?? -1] ?? []).some((k) => rows.tensors[k]?.layer === layer)
      ? [[position, total_reads, evict_ns]]
      : [],
  );
};

test("a row in a window is needed until the window has passed it, and one of the other layers to the end", () => {
  const steps = [batch(100, 0, 3), ...[3, 4, 5, 6].map((position) => batch(100 * position, position))];
  expect(livesOf(steps, 1)).toEqual([
    ...[0, 1, 2].map((p) => [p, 4, null]),
    [3, 3, null],
    [4, 2, null],
    [5, 1, null],
    [6, 0, null],
  ]);
  expect(livesOf(steps, 0)).toEqual([
    [0, 1, 400],
    [1, 2, 500],
    [2, 3, 600],
    [3, 3, null],
    [4, 2, null],
    [5, 1, null],
    [6, 0, null],
  ]);
});

test("rows of both kinds of layers are of one filling, and all are written once, also by a batch that is longer than the window's cache", () => {
  const rows = rowsOf([batch(100, 0, 20), batch(200, 20), batch(300, 21)]);
  expect(new Set(rows.tokens.map(({ filling }) => filling)).size).toBe(1);
  expect([rows.tokens.length, rows.tokens.every(({ writes }) => writes === "once")]).toEqual([44, true]);
  expect(livesOf([batch(100, 0, 20), batch(200, 20), batch(300, 21)], 0).slice(15, 19)).toEqual([
    [15, 0, 200],
    [16, 0, 200],
    [17, 1, 300],
    [18, 2, null],
  ]);
});

test("a row is needed again where its sequence goes back behind the window", () => {
  const back = change("kv_trim", 650, { position_from: 4, position_to: -1 });
  const steps = [batch(100, 0, 4), batch(400, 4), batch(500, 5), batch(600, 6), back, batch(700, 4)];
  expect(livesOf(steps, 0).slice(0, 4)).toEqual([
    [0, 0, 400],
    [1, 2, null],
    [2, 3, null],
    [3, 4, null],
  ]);
});

test("a part of a saved cache is that of the layers with a window", () => {
  const steps = [batch(100, 0, 6), change("kv_restore", 200, { partial: true }), batch(300, 6)];
  expect(livesOf(steps, 1)).toEqual([...[0, 1, 2, 3, 4, 5].map((p) => [p, 1, null]), [6, 0, null]]);
  // Three rows in front of the next token are needed, and came back.
  expect(livesOf(steps, 0)).toEqual([
    ...[0, 1, 2, 3, 4, 5].map((p) => [p, 0, 200]),
    ...[3, 4, 5].map((p) => [p, 1, null]),
    [6, 0, null],
  ]);
});

test("the cells of two sequences are not told where they were perhaps computed in another order than their batch has", () => {
  const cellsOf = (kv_graph_tokens?: readonly number[]) => {
    const kv_rows = [
      [0, 0, 3],
      [1, 0, 3],
    ];
    const facts = { context: "0xa", kv_rows, kv_row_cells: [[0, 6]], ...(kv_graph_tokens ? { kv_graph_tokens } : {}) };
    const one = step("decode", 100, { n_tokens: 6, n_sequences: 2, detail: JSON.stringify(facts) });
    return new Set(rowsOf([one]).tokens.flatMap(({ in_window, cell }) => (in_window ? [cell] : [])));
  };
  expect(cellsOf()).toEqual(new Set([0, 1, 2, 3, 4, 5]));
  expect(cellsOf([5, 1])).toEqual(new Set([0, 1, 2, 3, 4, 5]));
  expect(cellsOf([4, 2])).toEqual(new Set([null]));
});

const placed = (layer: number, cells: number, streams = 1): KvTensor => ({
  ...{ ...ENGINE, name: null, layer, context: null, streams, addr: 0n, row_bytes: 8, cells, layout: ROWS },
  ...{ element_bytes: 2, birth_ns: 0, death_ns: Number.POSITIVE_INFINITY },
});

test.each([
  ["the file of the model was not read", [placed(0, 8), placed(1, 64)], [LISTS], null],
  ["it is not certain of it", [placed(0, 8), placed(1, 64)], [LISTS], { layers: 2 }],
  ["the file is of a model with more layers", [placed(0, 8), placed(1, 64)], [LISTS], { ...MODEL, layers: 3 }],
  ["no graph told which layers write together", [placed(0, 8), placed(1, 64)], [], MODEL],
  ["graphs tell of other layers", [placed(0, 8), placed(1, 64)], [[[0], [2]]], MODEL],
  ["graphs do not agree", [placed(0, 8), placed(1, 64)], [LISTS, [[1], [0]]], MODEL],
  ["a layer has two caches", [placed(0, 8), placed(1, 64)], [[[0, 1], [1]]], MODEL],
  ["there are three caches", [placed(0, 8), placed(1, 64), placed(2, 64)], [[[0], [1], [2]]], { ...MODEL, layers: 3 }],
  [
    "the file says that other layers have a window",
    [placed(0, 8), placed(1, 64)],
    [LISTS],
    { ...MODEL, window_layers: [] },
  ],
  ["the layers with a window have the larger cache", [placed(0, 64), placed(1, 8)], [LISTS], MODEL],
  ["caches of layers with a window differ", [placed(0, 8), placed(0, 16), placed(1, 64)], [LISTS], MODEL],
] as const)("nothing is said of windows where %s", (_, tensors, lists, model) => {
  expect(windowCache([placed(0, 8), placed(1, 64)], [LISTS], MODEL)).not.toBeNull();
  expect(windowCache(tensors, lists, model as ModelFacts | null)).toBeNull();
});

test.each([0, 1])(
  "no row is told where graphs show %d caches of a model that has windows, as those do that are in parts",
  (n) => {
    const parts = step("engine", 1, { detail: JSON.stringify({ settings: { kv_caches: n } }) });
    const steps = [step("context", 0, { result: 0xa }), parts, batch(100, 0, 3), batch(200, 3)];
    const alike = [tensor(0, 64), tensor(1, 64)];
    const rows = kvRows(steps, alike, 0n, Number.POSITIVE_INFINITY, MODEL);
    expect([[...rows.tokens], rows.untold]).toEqual([[], SEVERAL_CACHES]);
    for (const layers of [2, 3, null]) {
      const other = { layers, has_other_windows: true } as unknown as ModelFacts;
      expect(kvRows(steps, alike, 0n, Number.POSITIVE_INFINITY, other).untold).toBe(SEVERAL_CACHES);
    }
    const plain = { layers: 2 } as unknown as ModelFacts;
    expect(kvRows(steps, alike, 0n, Number.POSITIVE_INFINITY, plain).untold).toBeNull();
  },
);

test("no row of any layer is told where the window is not known", () => {
  const rows = rowsOf([batch(100, 0, 3), batch(200, 3)], null);
  expect([[...rows.tokens], rows.untold]).toEqual([[], SEVERAL_CACHES]);
});
