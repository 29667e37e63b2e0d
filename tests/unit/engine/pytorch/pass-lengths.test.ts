import { describe, expect, test } from "bun:test";
import { type DrawnPass, passLengths } from "../../../../src/engine/pytorch/pass-lengths.ts";

const WORDS = { table: "words", sequences: 1, isDrawn: true, goesOn: false };
/** What the last of some passes shows. */
const last = (tokens: readonly number[], more: Partial<DrawnPass> = {}) => {
  const lengths = passLengths();
  return tokens.map((count) => lengths.pass({ ...WORDS, ...more, tokens: count })).at(-1);
};

describe("passes from which tokens are drawn", () => {
  test("compute a text anew for each token where each has one token more than the one before", () => {
    expect(last([10, 11, 12, 13, 14])).toBe("recomputed");
    expect(last([1, 2, 3, 4, 5, 6])).toBe("recomputed");
    expect(last([20, 22, 24, 26, 28], { sequences: 2 })).toBe("recomputed");
    expect(last([10, 11, 12, 13])).toBeNull();
    // It is known from then on.
    expect(last([10, 11, 12, 13, 14, 14])).toBe("recomputed");
  });

  test("do not where no token is drawn, where they go on in a cache, where others come between, or by steps of two", () => {
    const growing = [10, 11, 12, 13, 14, 15, 16];
    expect(last(growing, { isDrawn: false })).toBeNull();
    expect(last(growing, { goesOn: true })).toBeNull();
    expect(last([10, 11, 12, 1, 10, 11, 12, 1])).toBeNull();
    expect(last([10, 12, 14, 16, 18, 20])).toBeNull();
    const lengths = passLengths();
    for (const tokens of growing)
      for (const table of ["a", "b"]) expect(lengths.pass({ ...WORDS, table, tokens })).toBeNull();
  });

  test("may decode tokens of several sequences in one row where they have as many again and again, whatever cache they have", () => {
    for (const goesOn of [false, true]) expect(last([40, 7, 7, 7, 7, 7], { sequences: null, goesOn })).toBe("packed");
    expect(last([40, 7, 7, 7, 7], { sequences: null })).toBeNull();
    // One sequence decodes one token, and a batch of two dimensions says how many these are.
    expect(last([1, 1, 1, 1, 1, 1, 1], { sequences: null })).toBeNull();
    expect(last([7, 7, 7, 7, 7, 7, 7])).toBeNull();
    expect(last([7, 7, 7, 7, 7, 7, 7], { sequences: null, isDrawn: false })).toBeNull();
  });
});
