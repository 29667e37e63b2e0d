import { describe, expect, test } from "bun:test";
import { draftTurns } from "../../../../src/engine/pytorch/draft-turns.ts";

/** Passes [table, tokens]. @returns whether any of them shows that one model guesses for another */
const shows = (...passes: readonly (readonly [string, number])[]): boolean => {
  const turns = draftTurns();
  return passes.map(([table, tokens]) => turns.pass(table, tokens)).includes(true);
};
const times = <T>(count: number, some: (i: number) => readonly T[]): T[] =>
  Array.from({ length: count }, (_, i) => some(i)).flat();
/** Guesses, and their check. */
const round = (guesses: number, first = 1): [string, number][] => [
  ["draft", first],
  ...times(guesses - 1, (): [string, number][] => [["draft", 1]]),
  ["model", guesses + 1],
];

describe("two models of a thread", () => {
  const prompts: [string, number][] = [...round(5, 20).slice(0, -1), ["model", 25]];

  test("take turns as one that guesses and one that checks, however many guesses there are", () => {
    expect(shows(...prompts, ...times(3, () => round(5)))).toBe(true);
    // All were taken: the next guess works on the last of them too.
    expect(shows(...prompts, ...round(5, 2), ...round(7, 2), ...round(1), ...round(9))).toBe(true);
    expect(shows(...prompts, ...round(5))).toBe(false);
  });

  test("are no such where one encodes what the other answers, nor where each answers requests of its own", () => {
    expect(
      shows(
        ...times(9, (i): [string, number][] => [
          ["encoder", 12 + i],
          ...times(7, (): [string, number][] => [["decoder", 1]]),
        ]),
      ),
    ).toBe(false);
    const answer = (table: string): [string, number][] => [
      [table, 30],
      ...times(6, (): [string, number][] => [[table, 1]]),
    ];
    expect(shows(...times(9, () => [...answer("a"), ...answer("b")]))).toBe(false);
    expect(shows(...times(9, () => answer("a")))).toBe(false);
  });
});
