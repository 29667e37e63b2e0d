import { describe, expect, test } from "bun:test";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";
import { kvTokens } from "../../../fixtures/listed-tokens.ts";

const step = (begin_ns: number, kind: string, detail: object, of: Partial<StepRow> = {}): StepRow => ({
  ...{ pid: 1, engine: "vLLM", kind, begin_ns, end_ns: begin_ns + 1, detail: JSON.stringify(detail) },
  ...{ n_tokens: null, n_sequences: null, position_first: null, sequence_id: null, result: null },
  ...of,
});
/** A token of each sequence in turn, at a position, in a cell. */
const decode = (begin_ns: number, ...tokens: [sequence: number, position: number, cell: number][]) =>
  step(
    begin_ns,
    "decode",
    { kv_rows: tokens.map(([s, p]) => [s, p, 1]), kv_row_cells: tokens.map(([, , cell]) => [cell, 1]) },
    { n_tokens: tokens.length, n_sequences: tokens.length },
  );
const named = (sequence_id: number, request: string, is_gone = false) =>
  step(90, "request", { request, prompt_tokens: 1, is_gone }, { sequence_id });
const given = (begin_ns: number, full_blocks: boolean, ...cells: number[]) =>
  step(begin_ns, "kv_free", { kv_cells: cells.map((cell) => [cell, 1]), full_blocks });
const settings = (prefix_caching?: boolean) =>
  step(0, "engine", { settings: { kv_caches: 1, ...(prefix_caching === undefined ? {} : { prefix_caching }) } });

const endsOf = (...steps: StepRow[]) =>
  kvTokens(steps)
    .tokens.toSorted((one, other) => (one.cell ?? 0) - (other.cell ?? 0))
    .map(({ requests, end }) => [requests, end?.by ?? null, end?.left_prefix_cache ?? null]);

describe("a row whose block is given out again", () => {
  const begin = [settings(true), decode(1, [0, 0, 5])];

  test("ended with its request where the engine has that no more", () => {
    expect(endsOf(...begin, given(3, true, 5), named(0, "a"), named(0, "a", true))).toEqual([
      ['["a"]', "finished", true],
    ]);
  });

  test("was lost by a request that was put off where that began anew", () => {
    expect(endsOf(...begin, given(3, false, 5), decode(4, [1, 0, 6]), named(0, "a"), named(1, "a"))).toEqual([
      ['["a"]', "preempted", false],
      ['["a"]', null, null],
    ]);
  });

  test("ended for a reason that is not known where its request is still there, or has no name", () => {
    expect(endsOf(...begin, given(3, true, 5), named(0, "a"))).toEqual([['["a"]', "given_out", true]]);
    expect(endsOf(...begin, given(3, true, 5))).toEqual([[null, "given_out", true]]);
  });

  test("left no prefix cache that is not known to be there", () => {
    expect(endsOf(settings(), decode(1, [0, 0, 5]), given(3, true, 5))).toEqual([[null, "given_out", null]]);
    expect(endsOf(settings(false), decode(1, [0, 0, 5]), given(3, true, 5))).toEqual([[null, "given_out", false]]);
  });

  test("has every request that shared it, and one end where all of them ended alike", () => {
    const shared = step(2, "kv_copy", { sequence_from: 0, position_from: 0, position_to: 1 }, { sequence_id: 1 });
    const fresh = step(2, "kv_trim", { position_from: 0, position_to: -1 }, { sequence_id: 1 });
    const rows = [...begin, fresh, shared, decode(3, [1, 1, 6]), given(4, true, 5)];
    const both = [named(0, "a"), named(1, "b"), named(0, "a", true)];
    expect(endsOf(...rows, ...both, named(1, "b", true))[0]).toEqual(['["a","b"]', "finished", true]);
    expect(endsOf(...rows, ...both, named(2, "b"))[0]).toEqual(['["a","b"]', "given_out", true]);
    // A request that found its own row again when it began anew had it until it ended.
    expect(endsOf(...rows, named(0, "a"), named(1, "a"), named(1, "a", true))[0]).toEqual(['["a"]', "finished", true]);
    expect(endsOf(...rows, named(0, "a"))[0]).toEqual([null, "given_out", true]);
  });
});

test("a row that is written over, trimmed or cleared says so, and one that is there says nothing", () => {
  const trim = step(3, "kv_trim", { position_from: 1, position_to: -1 }, { sequence_id: 0 });
  const clear = step(5, "kv_clear", {});
  expect(
    endsOf(
      settings(),
      decode(1, [0, 0, 5], [0, 1, 6], [1, 0, 7]),
      trim,
      decode(4, [2, 0, 7]),
      clear,
      decode(6, [3, 0, 8]),
    ),
  ).toEqual([
    [null, "cleared", null],
    [null, "trimmed", null],
    [null, "written_over", null],
    [null, "cleared", null],
    [null, null, null],
  ]);
});
