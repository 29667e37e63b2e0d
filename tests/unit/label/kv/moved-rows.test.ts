import { describe, expect, test } from "bun:test";
import { kvRowSamples } from "../../../../src/analyse/input/kv-samples.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";
import { batch, step } from "../../../fixtures/kv-steps.ts";
import { kvRows, kvTokens } from "../../../fixtures/listed-tokens.ts";

type Rows = readonly (readonly [from: number, kept: number, added: number])[];

/** A batch of a cache of two layers, whose rows have 8 bytes of keys and 8 of values in each. */
function moved(begin_ns: number, number: number, rows: Rows, of: { cache?: number; sequences?: number } = {}): StepRow {
  const { cache = 0, sequences = 1 } = of;
  const detail = JSON.stringify({
    ...{ moved_cache: [cache, number], moved_sequences: [10 * cache, sequences], moved_layers: 2 },
    ...{ moved_bytes: [[8, 8]], moved_rows: rows },
  });
  return step("decode", begin_ns, { n_tokens: (rows[0]?.[2] ?? 0) * sequences, n_sequences: sequences, detail });
}
const ends = (begin_ns: number, cache = 0, is_lost?: true): StepRow =>
  step("kv_free", begin_ns, { detail: JSON.stringify({ moved_cache: [cache], is_lost }) });

/** Of each row: position, write, reads, last read, end and why, in order of groups and ends. */
const livesOf = (...steps: StepRow[]) =>
  kvTokens(steps)
    .moved.groups.flatMap(({ tokens }) => tokens)
    .map(({ position, is_written, write_ns, total_reads, last_read_ns, evict_ns, end }) => [
      position,
      is_written ? write_ns : null,
      total_reads,
      last_read_ns,
      evict_ns,
      end?.by ?? null,
    ]);

describe("a row of a cache that moves", () => {
  const begin = [moved(100, 0, [[0, 0, 2]]), moved(200, 1, [[0, 2, 1]]), moved(300, 2, [[0, 3, 1]])];

  test("goes on from copy to copy: each batch that keeps it reads it, until its memory is gone", () => {
    expect(livesOf(...begin, ends(350))).toEqual([
      [0, 100, 2, 300, 350, "memory_gone"],
      [1, 100, 2, 300, 350, "memory_gone"],
      [2, 200, 1, 300, 350, "memory_gone"],
      [3, 300, 0, null, 350, "memory_gone"],
    ]);
  });

  test("has no end where none was seen", () => {
    expect(livesOf(...begin).map(([position, , , , evict_ns]) => [position, evict_ns])).toEqual([
      [0, null],
      [1, null],
      [2, null],
      [3, null],
    ]);
  });

  test("that is cut off ends with the next batch, and another one gets its position", () => {
    expect(livesOf(...begin, moved(400, 3, [[0, 2, 2]])).filter(([position]) => Number(position) > 1)).toEqual([
      [2, 200, 1, 300, 400, "trimmed"],
      [3, 300, 0, null, 400, "trimmed"],
      [2, 400, 0, null, null, null],
      [3, 400, 0, null, null, null],
    ]);
  });

  test("is there before the first batch that was seen, and is not written by it", () => {
    expect(livesOf(moved(100, 7, [[0, 2, 1]]), moved(200, 8, [[0, 3, 1]]))).toEqual([
      [0, null, 2, 200, null, null],
      [1, null, 2, 200, null, null],
      [2, 100, 1, 200, null, null],
      [3, 200, 0, null, null, null],
    ]);
  });

  test("leaves the layers whose window has passed it, and stays in the others", () => {
    const full: Rows[0][] = [
      [0, 2, 1],
      [0, 3, 1],
    ];
    const window: Rows[0][] = [
      [0, 2, 1],
      [1, 2, 1],
    ];
    const steps = [
      moved(100, 0, [[0, 0, 2]]),
      ...full.map((one, i) => moved(200 + 100 * i, 1 + i, [one, window[i] ?? one])),
    ];
    const { groups } = kvTokens(steps).moved;
    expect(groups.map(({ tensors }) => tensors.map(({ name }) => name))).toEqual([
      ["cache_k_l0", "cache_v_l0"],
      ["cache_k_l1", "cache_v_l1"],
    ]);
    const gone = groups.map(({ tokens }) => tokens.filter(({ end }) => end !== null));
    expect(
      gone.map((some) => some.map(({ position, total_reads, evict_ns }) => [position, total_reads, evict_ns])),
    ).toEqual([[], [[0, 1, 300]]]);
  });

  test("has no position in a layer whose window had passed rows before the first batch that was seen", () => {
    const steps = [moved(100, 7, [[1, 2, 1]]), moved(200, 8, [[1, 2, 1]])];
    expect(livesOf(...steps).every(([position]) => position === null)).toBe(true);
  });

  test("is one of each sequence of the batch, whose numbers are their own", () => {
    const steps = [moved(100, 0, [[0, 0, 1]], { sequences: 2 }), moved(200, 1, [[0, 1, 1]], { sequences: 2 })];
    const tokens = kvTokens(steps).moved.groups.flatMap((group) => group.tokens);
    expect(tokens.map(({ sequence, filling, position }) => [sequence, filling, position])).toEqual([
      [0, 0, 0],
      [1, 1, 0],
      [0, 0, 1],
      [1, 1, 1],
    ]);
  });

  test("begins another filling behind rows that are cut off, but for those that were guessed ahead", () => {
    const guessed = [...begin, moved(400, 3, [[0, 3, 1]])];
    const fillings = (steps: StepRow[]) =>
      new Set(kvTokens(steps).moved.groups.flatMap(({ tokens }) => tokens.map(({ filling }) => filling))).size;
    expect(fillings(guessed)).toBe(1);
    expect(fillings([...begin, moved(400, 3, [[0, 1, 1]])])).toBe(2);
  });
});

describe("what cannot be known of caches that move", () => {
  const one = [moved(100, 0, [[0, 0, 2]]), moved(200, 1, [[0, 2, 1]]), ends(250)];

  test("are rows that were there when their cache was made anew: they are left out and counted, those that had ended are told", () => {
    const steps = [moved(100, 0, [[0, 0, 3]]), moved(200, 1, [[0, 2, 1]]), ends(250, 0, true)];
    expect(livesOf(...steps)).toEqual([[2, 100, 0, null, 200, "trimmed"]]);
    expect(kvTokens(steps).untold).toStartWith("3 rows were in caches that were made anew by what is not probed");
  });

  test("are rows before a batch that is missing: what comes behind it is told", () => {
    const steps = [...one.slice(0, 2), moved(400, 3, [[0, 4, 1]]), moved(500, 4, [[0, 5, 1]])];
    expect(livesOf(...steps).filter(([, written]) => written !== null)).toEqual([
      [4, 400, 1, 500, null, null],
      [5, 500, 0, null, null, null],
    ]);
    expect(kvTokens(steps).untold).toStartWith("3 rows were");
  });

  test("are batches that tell of no cache, and those of a cache of one batch, but for the first and the last", () => {
    const bare = step("decode", 260, { n_tokens: 3, n_sequences: 1 });
    const alone = moved(270, 0, [[0, 0, 2]], { cache: 5 });
    const edge = moved(900, 0, [[0, 0, 2]], { cache: 6 });
    expect(kvTokens([...one, edge]).untold).toBeNull();
    expect(kvTokens([...one, bare, alone, edge]).untold).toBe(
      "2 of 5 batches say of no cache that is known which rows they write",
    );
  });

  test("are none where another cache of the process stays where it is: both are told", () => {
    const { tokens, untold, moved: found } = kvTokens([...one, batch(300, 0, 2), batch(400, 2)]);
    expect([tokens.length, untold, found.groups.length]).toEqual([3, null, 1]);
  });

  test.each<[string, object]>([
    ["no layers", { moved_layers: 0 }],
    [
      "rows of another number of layers",
      {
        moved_rows: [
          [0, 0, 2],
          [0, 0, 2],
          [0, 0, 2],
        ],
      },
    ],
    ["other tokens than the batch", { moved_rows: [[0, 0, 3]] }],
    ["half a row", { moved_rows: [[0, 0.5, 2]] }],
    ["no sequences", { moved_sequences: "two" }],
  ])("are batches with %s", (_, change) => {
    const good = moved(100, 0, [[0, 0, 2]], { cache: 4 });
    const bad = { ...good, detail: JSON.stringify({ ...JSON.parse(good.detail ?? ""), ...change }) };
    expect(kvTokens([bad, ...one]).moved.groups).toHaveLength(1);
  });
});

test("figures of bytes are of the copies: each is written by one batch, and read and given back by the next", () => {
  const rows = kvRows([moved(100, 0, [[0, 0, 3]]), moved(200, 1, [[0, 2, 1]]), ends(250)], [], 0n);
  expect(rows.untold).toBeNull();
  expect(rows.tensors.map(({ name, row_bytes }) => [name, row_bytes])).toEqual([
    ["cache_k_l0", 8],
    ["cache_v_l0", 8],
    ["cache_k_l1", 8],
    ["cache_v_l1", 8],
  ]);
  const samples = Array.from(kvRowSamples(rows), ({ write_ns, last_read_ns, evict_ns, total_reads, size_bytes }) => [
    ...[write_ns, last_read_ns, evict_ns, total_reads, size_bytes],
  ]);
  expect(samples).toEqual([
    [100, 200, 200, 1, 64],
    [100, Number.NaN, 200, 0, 32],
    [200, Number.NaN, 250, 0, 96],
  ]);
});

describe("the layer of rows of a cache that moves", () => {
  const layersOf = (...steps: StepRow[]) =>
    kvTokens(steps).moved.groups.flatMap(({ tensors }) => tensors.map(({ layer, name }) => [layer, name]));
  const saying = (step: StepRow, moved_numbers: unknown): StepRow => ({
    ...step,
    detail: JSON.stringify({ ...JSON.parse(step.detail ?? "{}"), moved_numbers }),
  });
  const [first, second] = [moved(100, 0, [[0, 0, 2]]), moved(200, 1, [[0, 2, 1]])];
  const later = (moved_numbers: unknown): StepRow =>
    saying(step("engine", 100, { detail: JSON.stringify({ moved_cache: [0] }) }), moved_numbers);
  const of2And5 = [
    [2, "cache_k_l2"],
    [2, "cache_v_l2"],
    [5, "cache_k_l5"],
    [5, "cache_v_l5"],
  ];
  const untold = [0, 1].flatMap(() => ["cache_k", "cache_v"].map((name) => [null, name]));

  test("is that which its batches say", () => {
    expect(layersOf(saying(first, [2, 5]), saying(second, [2, 5]))).toEqual(of2And5);
  });

  test("is not known where its batches say so, unless a later row does", () => {
    const steps = [saying(first, null), saying(second, null)];
    expect(layersOf(...steps)).toEqual(untold);
    expect(layersOf(...steps, later([2, 5]))).toEqual(of2And5);
    expect(kvTokens(steps).untold).toBeNull();
  });

  test.each([[[2]], [[2, -5]], ["all"]])("is not known where it cannot be %j", (numbers) => {
    expect(layersOf(saying(first, numbers), saying(second, numbers))).toEqual(untold);
  });
});
