import { describe, expect, test } from "bun:test";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";
import { tokensIn } from "../../../fixtures/listed-tokens.ts";

function batch(begin_ns: number, position_first: number, n_tokens = 1, sequence_id = 0): StepRow {
  const row = { pid: 7, engine: "engine", kind: "decode", begin_ns, end_ns: begin_ns + 5, result: 0, detail: null };
  return { ...row, n_sequences: 1, sequence_id, position_first, n_tokens };
}

const ROOM = { cells: 4, streams: 1, birth_ns: 0, death_ns: Number.POSITIVE_INFINITY };

describe("a tensor with fewer cells than tokens, as that of a sliding window", () => {
  const steps = [batch(100, 0, 3), ...[200, 300, 400, 500].map((time, i) => batch(time, 3 + i))];

  test("loses the oldest row to each that is written over it, with the reads up to then", () => {
    const held = tokensIn(steps, ROOM).map((token) => [token?.position, token?.total_reads, token?.evict_ns]);
    expect(held).toEqual([
      [0, 1, 300],
      [1, 2, 400],
      [2, 3, 500],
      [3, 3, null],
      [4, 2, null],
      [5, 1, null],
      [6, 0, null],
    ]);
  });

  test("has each of these places written more than once, by the row that went and the one that came", () => {
    const held = tokensIn(steps, ROOM).map((token) => token?.writes);
    expect(held).toEqual([...Array(3).fill("more"), "once", ...Array(3).fill("more")]);
    expect(tokensIn(steps, { ...ROOM, cells: 7 }).map((token) => token?.writes)).toEqual(Array(7).fill("once"));
  });

  test("never holds more rows than cells, however many come and go", () => {
    const many = [
      batch(10, 0, 9, 1),
      batch(20, 0, 2, 2),
      ...Array.from({ length: 40 }, (_, i) => batch(30 + i, i, 1, 3)),
    ];
    for (const cells of [1, 3, 7, 50]) {
      const held = tokensIn(many, { ...ROOM, cells });
      for (const { begin_ns } of many.slice(2)) {
        const alive = held.filter((t) => t !== null && t.write_ns <= begin_ns && (t.evict_ns ?? Infinity) > begin_ns);
        expect(alive.length).toBeLessThanOrEqual(cells);
      }
    }
  });

  test("has such room for each sequence where it is split by them", () => {
    const two = [batch(100, 0, 4, 0), batch(200, 0, 4, 1), batch(300, 4, 1, 1)];
    const held = tokensIn(two, { ...ROOM, streams: 2 });
    expect(held.map((token) => token?.evict_ns)).toEqual([...Array(4).fill(null), 300, ...Array(4).fill(null)]);
  });
});

test("rows end with their tensor, and what was written before it was there is none of its rows", () => {
  const steps = [batch(100, 0), batch(200, 1), batch(300, 2)];
  const held = tokensIn(steps, { ...ROOM, birth_ns: 150, death_ns: 250 });
  expect(held.map((token) => token && [token.position, token.total_reads, token.evict_ns])).toEqual([
    null,
    [1, 0, 250],
    null,
  ]);
});

test("a tensor that is first seen while a batch fills it holds what that batch writes", () => {
  const steps = [batch(100, 0, 2), batch(200, 2)];
  const held = (birth_ns: number) => tokensIn(steps, { ...ROOM, birth_ns }).map((token) => token !== null);
  expect([held(103), held(106)]).toEqual([
    [true, true, true],
    [false, false, true],
  ]);
});
