import { describe, expect, test } from "bun:test";
import { cellsOf } from "../../../../src/label/kv/kv-cells.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";
import { kvTokens } from "../../../fixtures/listed-tokens.ts";

function step(kind: string, begin_ns: number, kv_cells: unknown, fields: Partial<StepRow> = {}): StepRow {
  const none = { n_tokens: null, n_sequences: null, position_first: null, sequence_id: null };
  const detail = kv_cells === undefined ? null : JSON.stringify({ kv_cells });
  return { ...none, pid: 7, engine: "paged", kind, begin_ns, end_ns: begin_ns + 5, result: 0, detail, ...fields };
}

function batch(begin_ns: number, sequence_id: number, position_first: number, kv_cells: [number, number][]): StepRow {
  const n_tokens = kv_cells.reduce((sum, [, count]) => sum + count, 0);
  return step("decode", begin_ns, kv_cells, { sequence_id, position_first, n_tokens, n_sequences: 1 });
}

/** Cell, position, reads and end of each token, in order of write. */
const livesOf = (steps: readonly StepRow[]) =>
  kvTokens(steps).tokens.map(({ cell, position, total_reads, last_read_ns, evict_ns }) => [
    cell,
    position,
    total_reads,
    last_read_ns,
    evict_ns,
  ]);

describe("tokens of a cache whose engine names the cells", () => {
  test("lie in their cells, and are read by later batches of their own sequence alone", () => {
    const steps = [
      batch(100, 0, 0, [[8, 2]]),
      batch(200, 1, 0, [[40, 1]]),
      batch(300, 0, 2, [[3, 1]]),
      batch(400, 1, 1, [[41, 1]]),
    ];
    expect(livesOf(steps)).toEqual([
      [8, 0, 1, 300, null],
      [9, 1, 1, 300, null],
      [40, 0, 1, 400, null],
      [3, 2, 0, null, null],
      [41, 1, 0, null, null],
    ]);
  });

  test("are written once where their cell was given back before it is written again", () => {
    const steps = [batch(100, 0, 0, [[0, 3]]), step("kv_free", 200, [[1, 1]]), batch(300, 1, 0, [[0, 2]])];
    expect(kvTokens(steps).tokens.map(({ cell, writes }) => [cell, writes])).toEqual([
      [0, "more"],
      [1, "once"],
      [2, "once"],
      [0, "more"],
      [1, "once"],
    ]);
  });

  test("end where their cell is given back, written again, or the cache is emptied", () => {
    const steps = [
      batch(100, 0, 0, [[0, 3]]),
      step("kv_free", 200, [[1, 1000]]),
      batch(300, 1, 0, [
        [0, 1],
        [5, 1],
      ]),
      step("kv_clear", 400, undefined),
    ];
    expect(livesOf(steps)).toEqual([
      [0, 0, 0, null, 300],
      [1, 1, 0, null, 200],
      [2, 2, 0, null, 200],
      [0, 0, 0, null, 400],
      [5, 1, 0, null, 400],
    ]);
  });

  test("have no position where the batch names no sequence, and are no more than the batch has tokens", () => {
    const unknown = step("decode", 100, [[4, 2 ** 40]], { n_tokens: 2, position_first: 3 });
    expect(livesOf([unknown])).toEqual([
      [4, null, 0, null, null],
      [5, null, 0, null, null],
    ]);
  });
});

test("cells that are none of ours are not believed", () => {
  for (const bad of [undefined, null, 3, [3], [[1]], [[1, -1]], [["1", 2]], [[0.5, 1]], [[1, 2, 3]]]) {
    expect(cellsOf(step("decode", 1, bad))).toBeNull();
  }
  expect(cellsOf(step("decode", 1, [[1, 2]]))).toEqual([[1, 2]]);
});
