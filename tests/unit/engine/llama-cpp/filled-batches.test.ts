import { describe, expect, test } from "bun:test";
import { filledBatches } from "../../../../src/engine/llama-cpp/filled-batches.ts";

const BATCH = 0x5000n;

/** Puts tokens in at positions, each of a sequence. */
function filled(tokens: readonly (readonly [sequence: number, position: number | null])[]) {
  const batches = filledBatches();
  for (const [i, [sequence, position]] of tokens.entries()) {
    batches.add(BATCH, sequence);
    batches.place(BATCH, i, position);
  }
  return batches;
}

describe("a batch that is filled token by token", () => {
  test("has its tokens in runs of the same sequences at ascending positions", () => {
    const batches = filled([
      [2, 10],
      [2, 11],
      [0, 12],
      [0, 13],
      [0, 20],
    ]);
    batches.share(BATCH, 3, 1);
    batches.share(BATCH, 4, 1);
    batches.share(BATCH, 4, 1);
    expect(batches.runsOf(BATCH)).toEqual([
      { sequences: [2], position: 10, tokens: 2, asking: 0 },
      { sequences: [0], position: 12, tokens: 1, asking: 0 },
      { sequences: [0, 1], position: 13, tokens: 1, asking: 0 },
      { sequences: [0, 1], position: 20, tokens: 1, asking: 0 },
    ]);
  });

  test("says how many of the last tokens of each run ask for logits", () => {
    const batches = filled([
      [0, 0],
      [0, 1],
      [0, 2],
      [1, 5],
      [1, 6],
    ]);
    batches.ask(BATCH, 0, true);
    batches.ask(BATCH, 2, true);
    batches.ask(BATCH, 4, true);
    batches.ask(BATCH, 3, true);
    batches.ask(BATCH, 9, true);
    const asking = () => batches.runsOf(BATCH)?.map((run) => run.asking);
    expect(asking()).toEqual([1, 2]);
    batches.ask(BATCH, 4, false);
    expect(asking()).toEqual([1, 0]);
  });

  test("begins anew when it is emptied, and is no other batch", () => {
    const batches = filled([[0, 0]]);
    batches.add(0x6000n, 3);
    batches.place(0x6000n, 0, 7);
    batches.empty(BATCH);
    expect(batches.runsOf(BATCH)).toBeNull();
    expect(batches.runsOf(0x6000n)).toEqual([{ sequences: [3], position: 7, tokens: 1, asking: 0 }]);
  });

  test("is not known where a token has no position, or one that was not read, or no sequence", () => {
    const late = filledBatches();
    // What was put in before the probes were there shifts the places of the rest.
    late.add(BATCH, 0);
    late.place(BATCH, 4, 4);
    expect(late.runsOf(BATCH)).toBeNull();
    expect(filled([[0, null]]).runsOf(BATCH)).toBeNull();
    expect(filled([[-1, 0]]).runsOf(BATCH)).toBeNull();
    expect(filledBatches().runsOf(BATCH)).toBeNull();
  });

  test("does not grow for ever in a program that never hands it over", () => {
    const batches = filledBatches();
    for (let i = 0; i < 300; i++) batches.add(BigInt(i + 1), 0);
    batches.place(1n, 0, 0);
    batches.place(300n, 0, 0);
    expect(batches.runsOf(1n)).toBeNull();
    expect(batches.runsOf(300n)).not.toBeNull();
    for (let i = 0; i < 2 ** 17 + 10; i++) {
      batches.add(BATCH, 0);
      batches.place(BATCH, i, i);
    }
    expect(batches.runsOf(BATCH)).toEqual([{ sequences: [0], position: 0, tokens: 2 ** 17, asking: 0 }]);
  });
});
