import { describe, expect, test } from "bun:test";
import { SEVERAL_CACHES } from "../../../../src/label/kv/kv-tokens.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";
import { change, mixed, ofSequence, START, step } from "../../../fixtures/kv-steps.ts";
import { kvTokens } from "../../../fixtures/listed-tokens.ts";

describe("cells that the engine names", () => {
  const caches = (kv_caches: number) => step("engine", 1, { detail: JSON.stringify({ settings: { kv_caches } }) });
  const SHARED = caches(1);
  const inCells = (one: StepRow, kv_row_cells: readonly (readonly [number, number])[]): StepRow => ({
    ...one,
    detail: JSON.stringify({ ...JSON.parse(one.detail ?? "{}"), kv_row_cells }),
  });
  const cellsOf = (steps: readonly StepRow[], streamCells: number | null = null) =>
    kvTokens([START, ...steps], () => streamCells).tokens.map((t) => [
      t.sequence,
      t.position,
      t.cell,
      t.evict_ns,
      t.writes,
    ]);
  const STEPS = [
    inCells(ofSequence(100, 0, 0, 3), [[4, 3]]),
    inCells(
      mixed(200, [
        [1, 0, 1],
        [0, 3, 1],
      ]),
      [
        [9, 1],
        [2, 1],
      ],
    ),
  ];

  test("are those of its rows, whatever the order of positions", () => {
    expect(cellsOf([SHARED, ...STEPS])).toEqual([
      [0, 0, 4, null, "once"],
      [0, 1, 5, null, "once"],
      [0, 2, 6, null, "once"],
      [1, 0, 9, null, "once"],
      [0, 3, 2, null, "once"],
    ]);
  });

  test("are those of one sequence, or of one token of each, where layers that keep a state have batches divided by sequences", () => {
    const ofBatch = (one: StepRow, streamCells: number | null = null) =>
      kvTokens(
        [START, SHARED, inCells(one, [[4, one.n_tokens ?? 0]])],
        () => streamCells,
        Number.POSITIVE_INFINITY,
        () => undefined,
        () => true,
      ).tokens.map(({ cell }) => cell);
    const two = (tokens: number) =>
      mixed(100, [
        [0, 0, 1],
        [1, 0, tokens],
      ]);
    expect(ofBatch(ofSequence(100, 0, 0, 3))).toEqual([4, 5, 6]);
    expect(ofBatch(two(1))).toEqual([4, 5]);
    expect(ofBatch(two(2))).toEqual([null, null, null]);
    expect(ofBatch(two(2), 512)).toEqual([4, 5, 6]);
    const overlapping = mixed(100, [
      [0, 0, 1],
      [[0, 1], 1, 1],
    ]);
    expect(ofBatch(overlapping)).toEqual([null, null]);
  });

  test("end the row that was there when they are written again, whoever has it", () => {
    expect(cellsOf([SHARED, ...STEPS, inCells(ofSequence(300, 2, 0), [[5, 1]])])).toEqual([
      [0, 0, 4, null, "once"],
      [0, 1, 5, 300, "more"],
      [0, 2, 6, null, "once"],
      [1, 0, 9, null, "once"],
      [0, 3, 2, null, "once"],
      [2, 0, 5, null, "more"],
    ]);
    const trimmed = [SHARED, ...STEPS, change("kv_trim", 250, 0), inCells(ofSequence(300, 2, 0), [[5, 1]])];
    expect(cellsOf(trimmed).at(-1)).toEqual([2, 0, 5, null, "once"]);
  });

  test("end what they hold where they are given back, which is not written over then", () => {
    const freed = (kv_cells: readonly (readonly [number, number])[]) =>
      step("kv_free", 250, { detail: JSON.stringify({ kv_cells }) });
    const steps = [SHARED, ...STEPS, freed([[4, 3]]), inCells(ofSequence(300, 2, 0), [[5, 1]])];
    expect(cellsOf(steps)).toEqual([
      [0, 0, 4, 250, "once"],
      [0, 1, 5, 250, "once"],
      [0, 2, 6, 250, "once"],
      [1, 0, 9, null, "once"],
      [0, 3, 2, null, "once"],
      [2, 0, 5, null, "once"],
    ]);
    // Whoever names more cells than there are gives back those that hold something.
    expect(cellsOf([SHARED, ...STEPS, freed([[0, 2 ** 40]])]).map(([, , , end]) => end)).toEqual([
      250, 250, 250, 250, 250,
    ]);
  });

  test("are unknown of a batch that names another number of them, and of what was restored", () => {
    const steps = [SHARED, ...STEPS, ofSequence(300, 0, 4), change("kv_restore", 400, 3), ofSequence(500, 3, 1)];
    expect(cellsOf(steps).slice(5)).toEqual([
      [0, 4, null, null, "once"],
      [3, 0, null, null, "once"],
      [3, 1, null, null, "once"],
    ]);
  });

  test("are not those of every layer where the engine does not say that it has one cache", () => {
    // One sequence that fills a cache from its start has them in the order of its positions.
    expect(cellsOf(STEPS).map(([, , cell]) => cell)).toEqual([0, 1, 2, null, null]);
  });

  test("are none where an engine names none and may move rows, once these are not in the order of their positions", () => {
    const linear = [SHARED, ofSequence(100, 0, 0, 2), ofSequence(200, 0, 2)];
    expect(cellsOf(linear).map(([, , cell]) => cell)).toEqual([0, 1, 2]);
    const hole = change("kv_trim", 300, 0, { position_from: 0, position_to: 1 });
    expect(cellsOf([...linear, hole, ofSequence(400, 0, 3)]).map(([, , cell]) => cell)).toEqual(Array(4).fill(null));
  });

  test("tell no lives where some layers have another cache: its window may have passed rows that are still there", () => {
    expect(kvTokens([START, SHARED, caches(2), ...STEPS])).toEqual({
      ...{ tokens: [], moved: { groups: [], copies: [] }, early: [], untold: SEVERAL_CACHES },
    });
  });

  test("of a copy are at the same place among those of its sequence, where each has cells for itself", () => {
    const steps = [
      SHARED,
      inCells(ofSequence(100, 0, 0, 2), [[4, 2]]),
      change("kv_copy", 150, 2, { sequence_from: 0 }),
      inCells(ofSequence(200, 2, 2), [[64, 1]]),
    ];
    expect(cellsOf(steps, 32)).toEqual([
      [0, 0, 4, null, "once"],
      [0, 1, 5, null, "once"],
      [2, 0, 68, null, "once"],
      [2, 1, 69, null, "once"],
      [2, 2, 64, null, "once"],
    ]);
  });
});
