import { describe, expect, test } from "bun:test";
import { decode, promptTokens } from "../../../../src/engine/demo/decode.ts";
import type { LlamaSequence } from "../../../../src/engine/demo/llama.ts";
import { DECODE_DEFAULTS } from "../../../../src/engine/demo/options.ts";

/** A sequence that counts as the engine does: the prompt in one go, then one position for each token but the last. */
function fakeSequence(): { sequence: LlamaSequence; calls: string[] } {
  const calls: string[] = [];
  let position = 0;
  const sequence: LlamaSequence = {
    get nextTokenIndex() {
      return position;
    },
    async clearHistory() {
      calls.push(`clear at ${position}`);
      position = 0;
    },
    async *evaluate(tokens, { seed }) {
      calls.push(`prompt of ${tokens.length}, seed ${seed}`);
      position += tokens.length;
      while (true) {
        yield position;
        position += 1;
      }
    },
  };
  return { sequence, calls };
}

const options = { ...DECODE_DEFAULTS, promptTokens: 6, seconds: null, tokens: 12 };

describe("decoding", () => {
  test("clears the context when it is full and begins again", async () => {
    const { sequence, calls } = fakeSequence();
    const decoded = await decode(
      sequence,
      16,
      options,
      () => false,
      () => undefined,
    );
    // Positions 6 to 14 hold the 9 tokens of the first pass; the other 3 come after the clear.
    expect(calls).toEqual(["prompt of 6, seed 1", "clear at 15", "prompt of 6, seed 2"]);
    expect([decoded.prefills, decoded.decodeTokens]).toEqual([2, 12]);
  });

  test("ends after the token at which it is stopped, and tells what it has", async () => {
    let asked = 0;
    const stopped = () => {
      asked += 1;
      return asked > 4;
    };
    const decoded = await decode(fakeSequence().sequence, 64, options, stopped, () => undefined);
    expect([decoded.prefills, decoded.decodeTokens]).toEqual([1, 3]);
    const never = await decode(
      fakeSequence().sequence,
      64,
      options,
      () => true,
      () => undefined,
    );
    expect(never).toMatchObject({ prefills: 0, decodeTokens: 0, ttftMs: null });
  });

  test("makes prompts that repeat for a seed and differ between passes", () => {
    expect(promptTokens(66, 1, 0)).toEqual(promptTokens(66, 1, 0));
    expect(promptTokens(66, 1, 0)).not.toEqual(promptTokens(66, 1, 1));
    expect(promptTokens(66, 1, 0)).not.toEqual(promptTokens(66, 2, 0));
    expect(promptTokens(66, 1, 0)[0]).toBe(1);
    for (const token of promptTokens(500, 1, 0).slice(1)) expect(token).toBeWithin(3 + 0x20, 3 + 0x7f);
  });
});
