import { describe, expect, test } from "bun:test";
import { cutGuesses } from "../../../../src/engine/pytorch/cut-guesses.ts";

/** A pass over a cache: how many rows it finds in front, and how many it puts behind them. */
interface PassFields {
  readonly found: number | null;
  readonly count: number;
  readonly from?: number;
  readonly drawn?: boolean;
}

/** Each pass finds what the one before left, in the storage of that one. @returns whether any of them shows that guesses are checked */
function shows(passes: readonly PassFields[]): boolean {
  const guesses = cutGuesses();
  return passes
    .map(({ found, count, from = 0, drawn = true }, i) => {
      const before = found === null ? null : { structure: BigInt(i), rows: found, from };
      const into = { rows: (found ?? 0) + count, storage: { structure: BigInt(i + 1) } };
      return guesses.put({ before, into, count }, () => drawn);
    })
    .includes(true);
}

const prompt: PassFields = { found: null, count: 20 };
/** Four guesses behind the token that was drawn, of which one is taken. */
const rounds = (count: number, begin = 20, more: Partial<PassFields> = {}): PassFields[] =>
  Array.from({ length: count }, (_, i) => ({ found: begin + 2 * i, count: 5, ...more }));

describe("what passes put behind a cache", () => {
  test("are guesses where a part of it is cut off again and again", () => {
    expect(shows([prompt, ...rounds(4)])).toBe(true);
    // The last pass is the first to say what became of the one before.
    expect(shows([prompt, ...rounds(3)])).toBe(false);
  });

  test("are guesses too where passes without any come between, and where a layer keeps a window", () => {
    const single = (found: number): PassFields => ({ found, count: 1 });
    const check = (found: number): PassFields => ({ found, count: 5 });
    const passes = [check(20), single(22), check(23), single(25), single(26), check(27), single(29)];
    expect(shows([prompt, ...passes])).toBe(true);
    expect(shows([prompt, ...Array.from({ length: 4 }, () => ({ found: 20, count: 5, from: 2 }))])).toBe(true);
  });

  test("are guesses too where all of them stay, and no pass of one token comes between", () => {
    const kept = (count: number, drawn = true) =>
      Array.from({ length: count }, (_, i) => ({ found: 20 + 5 * i, count: 5, drawn }));
    expect(shows([prompt, ...kept(4)])).toBe(true);
    expect(shows([prompt, ...kept(3)])).toBe(false);
    // A prompt that is computed in parts: a token is drawn from the last alone.
    expect(shows([prompt, ...kept(9, false)])).toBe(false);
  });

  test("are none where none of it stays, or no token was drawn in between", () => {
    const choices = Array.from({ length: 9 }, () => ({ found: 20, count: 5 }));
    expect(shows([prompt, ...choices])).toBe(false);
    expect(shows([prompt, ...rounds(9, 20, { drawn: false })])).toBe(false);
  });

  test("are none where a conversation cuts its answers, one token after another, and goes on", () => {
    const turn = (found: number): PassFields[] => [
      { found, count: 30 },
      ...Array.from({ length: 6 }, (_, i) => ({ found: found + 30 + i, count: 1 })),
    ];
    expect(shows([prompt, ...Array.from({ length: 9 }, (_, i) => turn(20 + 32 * i)).flat()])).toBe(false);
  });
});
