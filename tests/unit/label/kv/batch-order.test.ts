import { describe, expect, test } from "bun:test";
import { keptOrder } from "../../../../src/label/kv/batch-order.ts";
import type { RowRun } from "../../../../src/label/kv/positions.ts";

const run = (sequences: number | readonly number[], tokens: number): RowRun => ({
  sequences: [sequences].flat(),
  position: 0,
  tokens,
});
/** Three tokens that are decoded in front of a prompt. */
const BESIDE = [run(0, 1), run(1, 1), run(2, 1), run(3, 600)];
const PROMPTS = [run(0, 300), run(1, 300)];

describe("the order of a batch's tokens in its graphs", () => {
  test("is certain of one sequence, and of one token of each, however they are divided", () => {
    expect(keptOrder([run(5, 600)], [512, 88])).toBe(true);
    expect(keptOrder([run(5, 600)], [100, 500])).toBe(true);
    expect(keptOrder([run(0, 1), run(1, 1), run(2, 1)], [3])).toBe(true);
  });

  test("is certain where its first graph has another number of tokens than as many of each sequence would be", () => {
    expect(keptOrder(BESIDE, [603])).toBe(true);
    expect(keptOrder(BESIDE, [512, 91])).toBe(true);
    expect(keptOrder([run(0, 300), run(1, 300), run(2, 300)], [512, 388])).toBe(true);
  });

  test("is not where it has as many tokens of each, and others behind", () => {
    expect(keptOrder(BESIDE, [4, 512, 87])).toBe(false);
    expect(keptOrder(BESIDE, [4, 599])).toBe(false);
  });

  test("is not certain where both ways are the same number of tokens", () => {
    expect(keptOrder(PROMPTS, [512, 88])).toBe(false);
    // Two tokens of each by turns, or one sequence behind the other.
    const byTurns = [run(0, 1), run(1, 1), run(0, 1), run(1, 1)];
    expect(keptOrder(byTurns, [4])).toBe(false);
    expect(keptOrder([run(0, 2), run(1, 2)], [4])).toBe(true);
    expect(keptOrder([run(0, 1), run(0, 1), run(1, 2)], [4])).toBe(true);
  });

  test("is certain of tokens that share a sequence where they are in one graph, in which they cannot be else", () => {
    const shared = [run([0, 1], 2), run(0, 1), run(1, 1)];
    expect(keptOrder(shared, [4])).toBe(true);
    expect(keptOrder(shared, [2, 2])).toBe(false);
  });
});
