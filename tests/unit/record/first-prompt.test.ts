import { describe, expect, test } from "bun:test";
import { createFirstPrompt } from "../../../src/record/first-prompt.ts";

type Run = readonly [sequences: number | readonly number[], position: number, tokens: number];

/** Times of successive batches: each takes 10 ns, and the next one begins 1 ns behind it. */
function took(...batches: readonly { runs: readonly Run[] | null; pid?: number; context?: string }[]): number | null {
  const first = createFirstPrompt();
  first.make(1, 0x1n);
  batches.forEach(({ runs, pid = 1, context = "0x1" }, i) => {
    const n_tokens = (runs ?? [[0, 0, 64]]).reduce((sum, [, , tokens]) => sum + Number(tokens), 0);
    const n_sequences = runs === null ? 2 : new Set(runs.map(([sequences]) => String(sequences))).size;
    const [only] = runs?.length === 1 ? runs : [];
    const isAlone = only !== undefined && typeof only[0] === "number";
    first.take({
      ...{ pid, begin_ns: BigInt(11 * i), end_ns: BigInt(11 * i + 10), n_tokens, n_sequences },
      has_prompt: n_tokens > n_sequences,
      position_first: isAlone ? only[1] : null,
      sequence_id: isAlone ? Number(only[0]) : null,
      detail: JSON.stringify({ context, ...(isAlone || runs === null ? {} : { kv_rows: runs }) }),
    });
  });
  return first.took_ns;
}

describe("the first prompt of a run", () => {
  test("took none before there was one", () => {
    expect(took()).toBeNull();
    expect(took({ runs: [[0, 5, 1]] })).toBeNull();
  });

  test("took all of its batches, up to the first token of its answer", () => {
    const [one, two, three] = [0, 64, 128].map((position) => ({ runs: [[0, position, 64]] as const }));
    if (!one || !two || !three) throw new Error("three batches");
    const answer = { runs: [[0, 192, 1]] as const };
    expect(took(one)).toBe(10);
    expect(took(one, two, three)).toBe(32);
    expect(took(one, two, three, answer, { runs: [[0, 193, 64]] })).toBe(32);
  });

  test("has images in it, whose tokens stand at one position, and behind which it goes on further on", () => {
    const begin = { runs: [[0, 0, 8]] as const };
    const image = { runs: Array.from({ length: 9 }, () => [0, 8, 1] as const) };
    const text = { runs: [[0, 11, 5]] as const };
    expect(took(begin, image, text, { runs: [[0, 16, 1]] })).toBe(32);
    expect(took({ runs: [[0, 0, 1], ...image.runs] }, text)).toBe(21);
  });

  test("waited for batches of other sequences, which are none of it", () => {
    const begin = { runs: [[0, 0, 64]] as const };
    const other = { runs: [[1, 0, 64]] as const };
    expect(took(begin, other, { runs: [[0, 64, 64]] }, { runs: [[0, 128, 1]] })).toBe(32);
    expect(took(begin, { runs: [[0, 64, 64]], pid: 2 }, { runs: [[0, 64, 64]], context: "0x2" })).toBe(10);
  });

  test("is the one that ended first where several began in its batch", () => {
    const both: Run[] = [
      [0, 0, 40],
      [1, 0, 24],
    ];
    const rest: Run[] = [
      [0, 40, 60],
      [1, 24, 1],
    ];
    expect(took({ runs: both }, { runs: rest }, { runs: [[0, 100, 64]] })).toBe(10);
    expect(took({ runs: both }, { runs: [[1, 24, 64]] }, { runs: [[1, 88, 1]] }, { runs: [[0, 40, 9]] })).toBe(21);
  });

  test("ended where its sequence begins anew, and behind its first batch where nobody tells whose tokens they are", () => {
    expect(took({ runs: [[0, 0, 64]] }, { runs: [[0, 1, 64]] })).toBe(10);
    expect(took({ runs: null }, { runs: null })).toBe(10);
    expect(took({ runs: [[0, 0, 64]] }, { runs: null }, { runs: [[0, 64, 64]] })).toBe(10);
    expect(
      took(
        {
          runs: [
            [[0, 1], 0, 64],
            [2, 0, 1],
          ],
        },
        {
          runs: [
            [[0, 1], 64, 64],
            [2, 1, 1],
          ],
        },
      ),
    ).toBe(21);
  });

  test("is passed over where its context was there before and it may have begun unseen", () => {
    const late = (...runs: Run[]) => ({ runs, context: "0x9" });
    expect(took(late([0, 64, 64]), late([0, 128, 30]), late([0, 158, 1]))).toBeNull();
    expect(took(late([0, 64, 64]), late([0, 128, 30]), late([0, 4, 64]), late([0, 68, 9]))).toBe(21);
    expect(took(late([0, 9, 1]), late([0, 10, 64]))).toBe(10);
    expect(took(late([0, 9, 64], [1, 0, 64]), late([1, 64, 64]), late([0, 73, 64]))).toBe(21);
  });
});
