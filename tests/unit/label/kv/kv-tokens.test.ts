import { describe, expect, test } from "bun:test";
import { UNCOUNTED_ROWS } from "../../../../src/label/kv/kv-tokens.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";
import { batch, change, mixed, ofSequence, START, step } from "../../../fixtures/kv-steps.ts";
import { kvTokens } from "../../../fixtures/listed-tokens.ts";

/** Position, whether its write was seen, the time of that, reads, and the end. */
const told = (steps: readonly StepRow[]) =>
  kvTokens(steps)
    .tokens.map(
      (token) => [token.position, token.is_written, token.write_ns, token.total_reads, token.evict_ns] as const,
    )
    .sort(([a], [b]) => (a ?? -1) - (b ?? -1));

describe("tokens of a cache that was filled before the first batch that was seen", () => {
  test("were there, are read by that batch and all later ones, and end with the rest", () => {
    expect(told([batch(100, 2), batch(200, 3), step("kv_clear", 300)])).toEqual([
      [0, false, 100, 2, 300],
      [1, false, 100, 2, 300],
      [2, true, 100, 1, 300],
      [3, true, 200, 0, 300],
    ]);
  });

  test("end where a batch goes back over them, or a trim takes them", () => {
    expect(told([batch(100, 2), batch(200, 1)]).slice(0, 2)).toEqual([
      [0, false, 100, 2, null],
      [1, false, 100, 1, 200],
    ]);
    const trim = step("kv_trim", 200, { detail: JSON.stringify({ position_from: 1, position_to: -1 }) });
    expect(told([batch(100, 2), trim])).toEqual([
      [0, false, 100, 1, null],
      [1, false, 100, 1, 200],
      [2, true, 100, 0, 200],
    ]);
  });

  test("are none where the cache was seen made or emptied, or the batch says no position", () => {
    const later = (first: StepRow) => told([first, batch(100, 2)]).filter(([, is_written]) => !is_written);
    expect(later(step("context", 50))).toEqual([]);
    expect(later(step("kv_clear", 50))).toEqual([]);
    expect(later(step("kv_trim", 50))).toHaveLength(2);
    expect(told([batch(100, 0, 66), batch(200, 66)]).every(([, is_written]) => is_written)).toBe(true);
  });
});

/** Sequence, position, time of the write, reads, last read and end of each token. */
const lives = (steps: readonly StepRow[]) =>
  kvTokens([START, ...steps]).tokens.map((token) => [
    token.sequence,
    token.position,
    token.write_ns,
    token.total_reads,
    token.last_read_ns,
    token.evict_ns,
  ]);

describe("sequences in one cache", () => {
  test("may be 4,096 of which each batch has a token, and each is its own", () => {
    const [sequences, batches] = [4096, 6];
    const all = Array.from({ length: sequences }, (_, sequence) => sequence);
    const steps = Array.from({ length: batches }, (_, i) =>
      mixed(
        100 * (i + 1),
        all.map((sequence) => [sequence, i, 1]),
      ),
    );
    const odd = all.filter((sequence) => sequence % 2 === 1);
    const trims = odd.map((sequence) => change("kv_trim", 5000 + sequence, sequence));
    const bySequence = Map.groupBy(lives([...steps, ...trims]), ([sequence]) => sequence);
    expect(bySequence.size).toBe(sequences);
    for (const sequence of all) {
      expect(bySequence.get(sequence)).toEqual(
        Array.from({ length: batches }, (_, i) => {
          const later = batches - 1 - i;
          const end = sequence % 2 === 1 ? 5000 + sequence : null;
          return [sequence, i, 100 * (i + 1), later, later === 0 ? null : 100 * batches, end];
        }),
      );
    }
  });

  test("are read by the batches with them alone, and end by their own trims", () => {
    const steps = [
      ofSequence(100, 0, 0, 2),
      ofSequence(200, 1, 0),
      mixed(300, [
        [0, 2, 1],
        [1, 1, 1],
      ]),
      change("kv_trim", 400, 0, { position_from: 0 }),
      ofSequence(500, 1, 2),
      ofSequence(600, 0, 0),
    ];
    expect(lives(steps)).toEqual([
      [0, 0, 100, 1, 300, 400],
      [0, 1, 100, 1, 300, 400],
      [1, 0, 200, 2, 500, null],
      [1, 1, 300, 1, 500, null],
      [0, 2, 300, 0, null, 400],
      [1, 2, 500, 0, null, null],
      [0, 0, 600, 0, null, null],
    ]);
  });

  test("do not end one another when one begins anew at a lower position", () => {
    const steps = [ofSequence(100, 0, 0, 50), ofSequence(200, 1, 0, 3), ofSequence(300, 0, 50)];
    expect(lives(steps).filter(([, , , , , evict_ns]) => evict_ns !== null)).toEqual([]);
  });

  test("share rows until the last of them gives them up, and a batch with both needs such a row once", () => {
    const steps = [
      ofSequence(100, 0, 0, 2),
      change("kv_copy", 150, 1, { sequence_from: 0, position_from: 0, position_to: 1 }),
      mixed(200, [
        [0, 2, 1],
        [1, 1, 1],
      ]),
      change("kv_trim", 300, 0, { position_from: 0 }),
      ofSequence(400, 1, 2),
      change("kv_trim", 500, 1, { position_from: 0 }),
    ];
    expect(
      lives(steps).map(([sequence, position, , reads, , evict_ns]) => [sequence, position, reads, evict_ns]),
    ).toEqual([
      [0, 0, 2, 500],
      [0, 1, 1, 300],
      [1, 1, 1, 500],
      [0, 2, 0, 300],
      [1, 2, 0, 500],
    ]);
  });

  test("are read once by a batch of several of them, one of which goes back over such a row", () => {
    const steps = [
      mixed(100, [[[0, 1, 2], 0, 3]]),
      mixed(200, [
        [0, 3, 1],
        [1, 1, 1],
        [2, 3, 1],
      ]),
    ];
    const shared = kvTokens([START, ...steps]).tokens.filter(({ write_ns }) => write_ns === 100);
    expect(shared.map(({ position, total_reads }) => [position, total_reads])).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
    ]);
  });

  test("that a thousand sequences begin with, one after the other, are those of all of them", () => {
    const others = Array.from({ length: 1000 }, (_, i) => [
      change("kv_copy", 200 + 10 * i, 1 + i, { sequence_from: 0, position_from: 0, position_to: 64 }),
      ofSequence(205 + 10 * i, 1 + i, 64),
    ]);
    const rows = kvTokens([START, ofSequence(100, 0, 0, 64), ...others.flat()]).tokens.filter(
      ({ sequence }) => sequence === 0,
    );
    expect(rows.map(({ shared_with, total_reads }) => [shared_with.length, total_reads])).toEqual(
      Array.from({ length: 64 }, () => [1000, 1000]),
    );
    // What is alike of all of them is there once.
    expect(new Set(rows.map(({ shared_with }) => shared_with)).size).toBe(1);
    expect(new Set(rows.flatMap(({ reads }) => reads)).size).toBe(1000);
  });

  test("of one token that is in several are one row", () => {
    const steps = [mixed(100, [[[0, 1], 0, 3]]), ofSequence(200, 1, 3), change("kv_keep", 300, 1)];
    expect(lives(steps)).toEqual([
      [0, 0, 100, 1, 200, null],
      [0, 1, 100, 1, 200, null],
      [0, 2, 100, 1, 200, null],
      [1, 3, 200, 0, null, null],
    ]);
  });

  test("have copies of their own where the cache is split by sequence", () => {
    const steps = [
      START,
      ofSequence(100, 0, 0, 2),
      change("kv_copy", 150, 1, { sequence_from: 0 }),
      ofSequence(200, 1, 2),
      change("kv_trim", 300, 0, { position_from: 0 }),
    ];
    const { tokens } = kvTokens(steps, () => 512);
    expect(tokens.map((t) => [t.sequence, t.position, t.write_ns, t.total_reads, t.evict_ns])).toEqual([
      [0, 0, 100, 0, 300],
      [0, 1, 100, 0, 300],
      [1, 0, 150, 1, null],
      [1, 1, 150, 1, null],
      [1, 2, 200, 0, null],
    ]);
  });
});

test("a sequence that is kept alone leaves the others of a cache that is split by sequence as they are", () => {
  const steps = [START, ofSequence(100, 0, 0, 2), ofSequence(200, 1, 0, 3), change("kv_keep", 300, 1)];
  const ends = (cells: number | null) => kvTokens(steps, () => cells).tokens.map(({ evict_ns }) => evict_ns);
  expect(ends(null)).toEqual([300, 300, null, null, null]);
  expect(ends(512)).toEqual([null, null, null, null, null]);
});

describe("rows that nobody told of", () => {
  /** Names under which sequences may share their rows, by sequence; null for none. */
  const names = (cells: number | null, ...steps: StepRow[]) =>
    kvTokens(steps, () => cells)
      .tokens.filter(({ position }) => position === 0)
      .map(({ sequence, may_share = null }) => [sequence, may_share]);
  const both = (begin_ns: number) => [ofSequence(begin_ns, 0, 2), ofSequence(begin_ns + 50, 1, 2)];

  test("may be shared by the sequences of one cache that were there before", () => {
    const [[, first] = [], [, second] = []] = names(null, ...both(100));
    expect(first).toBeString();
    expect(second).toBe(first as string);
  });

  test("are of one sequence where each has cells of its own, or its state alone came back", () => {
    expect(names(512, ...both(100)).map(([, name]) => name)).toEqual([null, null]);
    const alone = [change("kv_restore", 50, 0), change("kv_restore", 60, 1)];
    expect(names(null, START, ...alone, ...both(100)).map(([, name]) => name)).toEqual([null, null]);
  });

  test("may be shared where the state of all sequences came back, not with what another time brought", () => {
    const twice = [change("kv_restore", 50, null), ...both(100), change("kv_restore", 200, null), ...both(300)];
    const found = names(null, START, ...twice).map(([, name]) => name);
    expect(new Set(found).size).toBe(2);
    expect(found).toHaveLength(4);
    expect(found).not.toContain(null);
  });
});

describe("a sequence that gets the rows of one that was there before", () => {
  /** Sequence, others that share it, position and reads of each row. */
  const shared = (cells: number | null, ...steps: StepRow[]) => {
    const { tokens, untold } = kvTokens(steps, () => cells);
    return untold ?? tokens.map((t) => [t.sequence, t.shared_with, t.position, t.total_reads]);
  };
  const copy = (at: number, position_to = -1) => change("kv_copy", at, 1, { sequence_from: 0, position_to });

  test("is not told where nobody knows how many these are", () => {
    const steps = [change("kv_trim", 50, 1, { position_from: 0 }), copy(100), ofSequence(200, 1, 4)];
    for (const cells of [null, 512]) expect(shared(cells, ...steps)).toContain("before it was known which rows");
    const restored = [START, change("kv_restore", 50, 0), copy(100), ofSequence(200, 1, 4), ofSequence(300, 0, 4)];
    expect(shared(null, ...restored)).toContain("before it was known which rows");
    expect(shared(null, copy(100), step("kv_clear", 150), ofSequence(200, 1, 0))).toEqual([[1, [], 0, 0]]);
  });

  test("has as many as it was given, once in all, where its next batch comes right behind them", () => {
    const trim = change("kv_trim", 50, 1, { position_from: 0 });
    const steps = [trim, copy(100, 2), ofSequence(200, 1, 2), ofSequence(300, 0, 3)];
    expect(shared(null, ...steps)).toEqual([
      [0, [1], 0, 2],
      [0, [1], 1, 2],
      [1, [], 2, 0],
      [0, [], 2, 1],
      [0, [], 3, 0],
    ]);
    const cut = change("kv_trim", 150, 1, { position_from: 1 });
    expect(shared(null, trim, copy(100, 2), cut, ofSequence(200, 1, 1))).toEqual([
      [0, [1], 0, 1],
      [0, [1], 1, 0],
      [1, [], 1, 0],
    ]);
    expect(shared(null, trim, copy(100, 3), ofSequence(200, 1, 2))).toContain("before it was known which rows");
    // What is left ends in front of a stretch that was taken from the midst before.
    const hole = [
      change("kv_trim", 150, 1, { position_from: 1, position_to: 3 }),
      change("kv_trim", 160, 1, { position_from: 2 }),
    ];
    expect(shared(null, trim, copy(100, 4), ...hole, ofSequence(200, 1, 1)).slice(0, 2)).toEqual([
      [0, [1], 0, 1],
      [0, [1], 1, 0],
    ]);
    expect(shared(null, trim, copy(100, 4), ...hole, ofSequence(200, 1, 2))).toContain(
      "before it was known which rows",
    );
    const emptied = change("kv_restore", 150, 1);
    expect(shared(null, trim, copy(100, 2), emptied, ofSequence(200, 1, 1)).slice(2)).toEqual([
      [1, [], 0, 1],
      [1, [], 1, 0],
    ]);
    expect(shared(null, trim, ofSequence(60, 1, 0, 3), copy(100, 0), ofSequence(200, 1, 3))).toHaveLength(4);
  });

  test("has those once that it got of one that is known, though what it had before is not", () => {
    expect(shared(null, ofSequence(100, 0, 0, 2), copy(150), ofSequence(200, 1, 2))).toEqual([
      [0, [1], 0, 1],
      [0, [1], 1, 1],
      [1, [], 2, 0],
    ]);
  });
});

describe("a shift of the context", () => {
  test("moves rows without ending them: those between are trimmed, the rest live on and are read", () => {
    const steps = [
      ofSequence(100, 0, 0, 6),
      change("kv_trim", 150, 0, { position_from: 1, position_to: 3 }),
      change("kv_shift", 150, 0, { position_from: 3, position_to: 6, positions: -2 }),
      ofSequence(200, 0, 4),
      ofSequence(300, 0, 5),
    ];
    const ended = lives(steps).map(([, position, , reads, , evict_ns]) => [position, reads, evict_ns]);
    expect(ended).toEqual([
      [0, 2, null],
      [1, 0, 150],
      [2, 0, 150],
      [3, 2, null],
      [4, 2, null],
      [5, 2, null],
      [4, 1, null],
      [5, 0, null],
    ]);
  });

  test("makes the cell of later rows unknown, for the engine puts them where room became", () => {
    const steps = [
      ofSequence(100, 0, 0, 4),
      change("kv_trim", 150, 0, { position_from: 0, position_to: 2 }),
      change("kv_shift", 150, 0, { position_from: 2, position_to: 4, positions: -2 }),
      ofSequence(200, 0, 2),
    ];
    expect(kvTokens([START, ...steps]).tokens.map(({ cell }) => cell)).toEqual([0, 1, 2, 3, null]);
  });

  test("ends what it moves before the first position, and division keeps lives", () => {
    const steps = [
      ofSequence(100, 0, 0, 4),
      change("kv_shift", 200, 0, { positions: -2 }),
      change("kv_divide", 300, 0, { divisor: 2 }),
      change("kv_trim", 400, 0, { position_from: 0 }),
    ];
    expect(lives(steps).map(([, , , , , evict_ns]) => evict_ns)).toEqual([200, 200, 400, 400]);
  });
});

describe("a restore", () => {
  test("ends what the sequence had, and its rows are those in front of the next batch, written by it", () => {
    const steps = [ofSequence(100, 2, 0, 3), change("kv_restore", 200, 2), ofSequence(300, 2, 2)];
    expect(
      lives(steps).map(([, position, write_ns, reads, , evict_ns]) => [position, write_ns, reads, evict_ns]),
    ).toEqual([
      [0, 100, 0, 200],
      [1, 100, 0, 200],
      [2, 100, 0, 200],
      [0, 200, 1, null],
      [1, 200, 1, null],
      [2, 300, 0, null],
    ]);
  });

  test("of a part of a cache leaves nobody knowing what is there", () => {
    const steps = [ofSequence(100, 0, 0, 3), change("kv_restore", 200, 0, { partial: true })];
    expect(kvTokens(steps)).toEqual({
      ...{ tokens: [], moved: { groups: [], copies: [] }, early: [], untold: "a part of a saved cache was restored" },
    });
  });
});

describe("an image, whose tokens stand at one position, and behind which the next one is further on", () => {
  const IMAGE = Array.from({ length: 6 }, () => [0, 3, 1] as const);
  const withImage = [mixed(100, [[0, 0, 3], ...IMAGE]), ofSequence(200, 0, 6), ofSequence(300, 0, 7)];

  test("has a row for each of them, which all that come later read", () => {
    expect(lives(withImage).map(([, position, , reads, , end]) => [position, reads, end])).toEqual([
      ...[0, 1, 2, 3, 3, 3, 3, 3, 3].map((position) => [position, 2, null]),
      [6, 1, null],
      [7, 0, null],
    ]);
  });

  test("leaves it open in which cells its rows are, but for the first, and those behind it", () => {
    expect(kvTokens([START, ...withImage]).tokens.map(({ cell }) => cell)).toEqual([
      0,
      1,
      2,
      3,
      ...Array(7).fill(null),
    ]);
    const text = [ofSequence(100, 0, 0, 3), ofSequence(200, 0, 6)];
    expect(kvTokens([START, ...text]).tokens.map(({ cell }) => cell)).toEqual([0, 1, 2, null]);
  });

  test("may be among the rows that were there before, of which nobody knows how many there are then", () => {
    const late = [ofSequence(100, 0, 40), mixed(200, [[0, 41, 1], ...IMAGE.map(() => [0, 42, 1] as const)])];
    expect(kvTokens(late)).toMatchObject({ tokens: [], untold: UNCOUNTED_ROWS });
    const other = [ofSequence(100, 1, 40), mixed(200, [[0, 0, 1], ...IMAGE.map(() => [0, 1, 1] as const)])];
    expect(kvTokens(other)).toMatchObject({ tokens: [], untold: UNCOUNTED_ROWS });
    const restored = [START, ...withImage, change("kv_restore", 400, 1), ofSequence(500, 1, 20)];
    expect(kvTokens(restored)).toMatchObject({ tokens: [], untold: UNCOUNTED_ROWS });
    expect(kvTokens([START, ...withImage, change("kv_restore", 400, 1)]).untold).toBeNull();
  });
});

test("fillings are what a sequence writes from one emptying to the next, and guesses that were given up begin none", () => {
  const steps = [
    START,
    ofSequence(100, 0, 0, 4),
    ofSequence(200, 0, 4, 3),
    change("kv_trim", 250, 0, { position_from: 5 }),
    ofSequence(300, 0, 5),
    ofSequence(350, 1, 0),
    change("kv_trim", 400, 0, { position_from: 2 }),
    ofSequence(500, 0, 2),
  ];
  const fillings = kvTokens(steps).tokens.map(
    ({ sequence, write_ns, filling }) => `${sequence} ${write_ns} ${filling}`,
  );
  expect([...new Set(fillings)]).toEqual(["0 100 0", "0 200 0", "0 300 0", "1 350 1", "0 500 2"]);
});

test("a chat of which less than half of each turn is cut is one filling, and what follows a beginning that is kept is another", () => {
  const cut = (at: number, position_from: number) => change("kv_trim", at, 0, { position_from });
  const numbers = (...steps: StepRow[]) => kvTokens([START, ...steps]).tokens.map(({ filling }) => filling);
  const turn = (at: number, position: number) => [
    ofSequence(at, 0, position, 6),
    ofSequence(at + 50, 0, position + 6, 4),
  ];
  expect(new Set(numbers(...turn(100, 0), cut(200, 6), ...turn(300, 6), cut(400, 12), ...turn(500, 12))).size).toBe(1);
  expect(new Set(numbers(...turn(100, 0), cut(200, 3), ...turn(300, 3), cut(400, 3), ...turn(500, 3))).size).toBe(3);
});

describe("what nobody told", () => {
  const untold = (...steps: StepRow[]) => kvTokens([START, ...steps]).untold;

  test("is not guessed: batches of sequences that are not known, batches that were not read, batches given up", () => {
    expect(untold(step("decode", 100, { n_tokens: 4, n_sequences: 4 }))).toContain("sequences of a batch");
    expect(untold(step("decode", 100))).toContain("could not be read");
    const ended = (result: number) =>
      untold(step("decode", 100, { n_tokens: 4, n_sequences: 1, position_first: 0, result }), ofSequence(200, 0, 0));
    for (const result of [2, -2, -3]) expect(ended(result)).toContain("given up");
    for (const result of [1, -1]) expect(ended(result)).toBeNull();
    const unread = (result: number) => untold(ofSequence(100, 0, 0), step("decode", 200, { n_tokens: null, result }));
    expect([0, 1, -1].map(unread)).toEqual(["a batch could not be read", null, null]);
    const short = JSON.stringify({ kv_rows: [[0, 0, 3]] });
    expect(untold(step("decode", 100, { n_tokens: 4, n_sequences: 2, detail: short }))).toContain(
      "sequences of a batch",
    );
    expect(untold(step("graph", 100))).toContain("no batch was seen");
    expect(untold(ofSequence(100, 0, 0))).toBeNull();
  });

  test("is whose cache a step changes, where one of several contexts is not named", () => {
    const inContext = (row: StepRow, context: string) => ({
      ...row,
      detail: JSON.stringify({ ...JSON.parse(row.detail ?? "{}"), context }),
    });
    const two = [inContext(ofSequence(100, 0, 0, 2), "0x77"), inContext(ofSequence(200, 0, 0, 3), "0x88")];
    expect(untold(...two, change("kv_trim", 300, 0))).toContain("which of 2 contexts");
    const { tokens, untold: why } = kvTokens([START, ...two, inContext(change("kv_trim", 300, 0), "0x88")]);
    expect(why).toBeNull();
    expect(tokens.map(({ context, evict_ns, total_reads }) => [context, evict_ns, total_reads])).toEqual([
      ...Array(2).fill(["0x77", null, 0]),
      ...Array(3).fill(["0x88", 300, 0]),
    ]);
  });
});

test("a batch that names no context, before those that do, is of the time before we looked", () => {
  const named = (row: StepRow) => ({ ...row, detail: JSON.stringify({ context: "0x77" }) });
  const steps = [ofSequence(100, 0, 5, 2), named(ofSequence(200, 0, 7)), named(ofSequence(300, 0, 8))];
  const { tokens, untold } = kvTokens(steps);
  expect(untold).toBeNull();
  const lives = tokens.map(({ position, is_written, total_reads }) => [position, is_written, total_reads]);
  expect(lives).toEqual(
    kvTokens(steps.slice(1)).tokens.map(({ position, is_written, total_reads }) => [position, is_written, total_reads]),
  );
  expect(lives.filter(([, is_written]) => is_written)).toEqual([
    [7, true, 1],
    [8, true, 0],
  ]);
  expect(kvTokens([...steps, ofSequence(400, 0, 9)]).untold).toContain("which of 2 contexts");
});

describe("how often the row of a token is written", () => {
  /** Sequence and position of each token, and its writes, in order of time. */
  const writes = (steps: readonly StepRow[]) =>
    kvTokens([START, ...steps]).tokens.map(({ position, writes: times }) => [position, times]);

  test("is once where the engine gives it up before its place is written again", () => {
    const trim = change("kv_trim", 300, 0, { position_from: 1 });
    expect(
      writes([batch(100, 0, 3), batch(200, 3), trim, batch(400, 1), step("kv_clear", 500), batch(600, 0)]),
    ).toEqual([
      [0, "once"],
      [1, "once"],
      [2, "once"],
      [3, "once"],
      [1, "once"],
      [0, "once"],
    ]);
  });

  test("is more than once, for both, where a batch goes back and writes over it", () => {
    expect(writes([batch(100, 0, 3), batch(200, 1), batch(300, 2)])).toEqual([
      [0, "once"],
      [1, "more"],
      [2, "more"],
      [1, "more"],
      [2, "once"],
    ]);
  });

  test("is not known where positions were moved while it was there: keys may have been written again", () => {
    const shift = change("kv_shift", 200, 0, { position_from: 2, positions: -1 });
    expect(writes([batch(100, 0, 3), shift, batch(300, 2)])).toEqual([
      [0, "perhaps_more"],
      [1, "perhaps_more"],
      [2, "perhaps_more"],
      [2, "once"],
    ]);
  });
});

test("a batch that names a sequence twice for its rows has each of them once", () => {
  const steps = [START, mixed(100, [[[3, 3], 0, 2]]), mixed(200, [[3, 2, 1]]), change("kv_trim", 300, 3)];
  const { tokens, untold } = kvTokens(steps);
  expect(untold).toBeNull();
  expect(tokens.map(({ position, evict_ns }) => [position, evict_ns])).toEqual([
    [0, 300],
    [1, 300],
    [2, 300],
  ]);
});
