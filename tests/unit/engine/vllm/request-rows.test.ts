import { describe, expect, test } from "bun:test";
import { requestRows } from "../../../../src/engine/vllm/request-rows.ts";

const request = (tokens: number, length: number, ...blocks: number[]) => ({ tokens, length, blocks });

describe("the rows of a step", () => {
  test("lie in the blocks of each request, from the positions that it has reached", () => {
    const rows = requestRows(4);
    expect(rows.rowsOf([request(6, 6, 3, 1), request(2, 2, 5)])).toEqual({
      kv_rows: [
        [0, 0, 6],
        [1, 0, 2],
      ],
      kv_row_cells: [
        [12, 4],
        [4, 2],
        [20, 2],
      ],
      shared: [],
      freed: [],
      prompts: [],
    });
    // A request that is left out of a step goes on in the next.
    expect(rows.rowsOf([request(1, 3, 5)]).kv_rows).toEqual([[1, 2, 1]]);
    expect(rows.rowsOf([request(1, 7, 3, 1), request(1, 4, 5)]).kv_rows).toEqual([
      [0, 6, 1],
      [1, 3, 1],
    ]);
  });

  test("of a request that begins with blocks of others are a new sequence's, with the rows that those wrote", () => {
    const rows = requestRows(4);
    rows.rowsOf([request(9, 9, 1, 2, 3)]);
    rows.rowsOf([request(6, 6, 5, 6)]);
    const { kv_rows, shared } = rows.rowsOf([request(1, 10, 1, 2, 3), request(3, 11, 1, 2, 7)]);
    expect(kv_rows).toEqual([
      [0, 9, 1],
      [2, 8, 3],
    ]);
    expect(shared).toEqual([{ sequence: 2, sequence_from: 0, position_from: 0, position_to: 8, is_fresh: false }]);
  });

  test("may be shared by two requests of one step, of which the first writes them", () => {
    const { shared } = requestRows(4).rowsOf([request(6, 6, 1, 2), request(1, 5, 1, 3)]);
    expect(shared).toEqual([{ sequence: 1, sequence_from: 0, position_from: 0, position_to: 4, is_fresh: true }]);
  });

  test("may be shared by a request that stands before the one that writes them, as one does that takes the place of one that ended", () => {
    const rows = requestRows(4);
    // A prompt comes in parts beside a request that ends; the next one begins with all of that prompt.
    rows.rowsOf([request(1, 1, 9), request(4, 4, 1)]);
    expect(rows.rowsOf([request(2, 10, 1, 2, 5), request(6, 10, 1, 2, 3)])).toEqual({
      kv_rows: [
        [2, 8, 2],
        [1, 4, 6],
      ],
      kv_row_cells: [
        [20, 2],
        [8, 6],
      ],
      shared: [
        { sequence: 2, sequence_from: 1, position_from: 0, position_to: 4, is_fresh: false },
        { sequence: 2, sequence_from: 1, position_from: 4, position_to: 8, is_fresh: true },
      ],
      freed: [],
      prompts: [],
    });
  });

  test("are not those that lay in a block before it was given out in the same step", () => {
    const rows = requestRows(4);
    // It ended at the end of a block, at the position at which the next one begins to write.
    rows.rowsOf([request(8, 8, 1, 2)]);
    const { kv_rows, shared, freed } = rows.rowsOf([request(1, 9, 3, 2, 5), request(8, 8, 3, 2)]);
    expect(kv_rows).toEqual([
      [2, 8, 1],
      [1, 0, 8],
    ]);
    expect(shared).toEqual([{ sequence: 2, sequence_from: 1, position_from: 0, position_to: 8, is_fresh: true }]);
    expect(freed).toEqual([{ cells: [8, 4], is_full: true }]);
  });

  test("are of a prompt though it is one token, where a request begins with it, or has all others of its prompt of another one", () => {
    const rows = requestRows(4);
    expect(rows.rowsOf([request(1, 1, 9), request(9, 9, 1, 2, 3)]).prompts).toEqual([0]);
    expect(rows.rowsOf([request(1, 2, 9), request(1, 10, 1, 2, 3), request(1, 9, 1, 2, 5)]).prompts).toEqual([2]);
    expect(rows.rowsOf([request(1, 10, 1, 2, 5)]).prompts).toEqual([]);
    // One that was there before anything was seen may answer.
    expect(rows.rowsOf([request(1, 7, 12, 13)]).prompts).toEqual([]);
  });

  test("of a block that is given out again are not those of the request that had it before", () => {
    const rows = requestRows(4);
    rows.rowsOf([request(4, 4, 1)]);
    rows.rowsOf([request(4, 4, 1)]);
    expect(rows.rowsOf([request(2, 6, 1, 2)])).toMatchObject({ kv_rows: [[1, 4, 2]], shared: [] });
    // Of a request that was there before anything was seen, what it holds is not told.
    expect(rows.rowsOf([request(1, 31, 8, 9, 10, 11, 12, 13, 14, 15)])).toMatchObject({
      kv_rows: [[2, 30, 1]],
      shared: [],
    });
  });

  test("are gone with their block where that is given out again, those that nobody writes over too", () => {
    const rows = requestRows(4);
    rows.rowsOf([request(7, 7, 1, 2)]);
    expect(rows.rowsOf([request(1, 8, 1, 2)]).freed).toEqual([]);
    expect(rows.rowsOf([request(1, 1, 2)])).toMatchObject({
      kv_rows: [[1, 0, 1]],
      freed: [{ cells: [8, 4], is_full: true }],
    });
    expect(rows.rowsOf([request(1, 1, 2)]).freed).toEqual([{ cells: [8, 4], is_full: false }]);
    // What the first one had in its other block may be found again by who begins alike.
    expect(rows.rowsOf([request(1, 5, 1, 3)]).shared).toMatchObject([{ sequence_from: 0, position_to: 4 }]);
  });

  test("are another sequence's where a request finds the full blocks of one that decoded, and goes on with more than one token", () => {
    const answered = () => {
      const rows = requestRows(4);
      for (const length of [6, 7, 8]) rows.rowsOf([request(length === 6 ? 6 : 1, length, 1, 2)]);
      return rows;
    };
    expect(answered().rowsOf([request(3, 11, 1, 2, 5)])).toMatchObject({
      kv_rows: [[1, 8, 3]],
      shared: [{ sequence: 1, sequence_from: 0, position_from: 0, position_to: 8 }],
    });
    expect(answered().rowsOf([request(1, 9, 1, 2, 5)]).kv_rows).toEqual([[0, 8, 1]]);
    // A prompt comes in parts, of which the first ended with a block.
    const parts = requestRows(4);
    parts.rowsOf([request(8, 8, 1, 2)]);
    expect(parts.rowsOf([request(4, 12, 1, 2, 5)]).kv_rows).toEqual([[0, 8, 4]]);
  });

  test("are the same sequence's where it gives up what it guessed in the step before, in the midst of a block and at its begin", () => {
    const rows = requestRows(4);
    rows.rowsOf([request(5, 5, 1, 2)]);
    // One token and three guesses, of which one stays.
    expect(rows.rowsOf([request(4, 9, 1, 2, 3)]).kv_rows).toEqual([[0, 5, 4]]);
    expect(rows.rowsOf([request(4, 11, 1, 2, 3)])).toMatchObject({ kv_rows: [[0, 7, 4]], shared: [], freed: [] });
    expect(rows.rowsOf([request(4, 12, 1, 2, 3)])).toMatchObject({ kv_rows: [[0, 8, 4]], shared: [], freed: [] });
    expect(rows.rowsOf([request(2, 14, 1, 2, 3, 4)]).kv_rows).toEqual([[0, 12, 2]]);
    // Behind what it wrote before its last step nobody goes on.
    expect(rows.rowsOf([request(2, 12, 1, 2, 3)]).kv_rows).toEqual([[1, 10, 2]]);
  });

  test("are another sequence's at the begin of a block that was given out again, where nobody is known to guess", () => {
    const rows = requestRows(4);
    rows.rowsOf([request(7, 7, 1, 2)]);
    expect(rows.rowsOf([request(2, 6, 1, 2)])).toMatchObject({
      kv_rows: [[1, 4, 2]],
      shared: [{ sequence: 1, sequence_from: 0, position_from: 0, position_to: 4 }],
      freed: [{ cells: [8, 4], is_full: false }],
    });
  });
});
