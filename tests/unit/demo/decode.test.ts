import { describe, expect, test } from "bun:test";
import { decode } from "../../../src/demo/decode.ts";
import { DECODE_DEFAULTS, type DecodeOptions } from "../../../src/demo/demo-options.ts";
import type { LlamaSequence } from "../../../src/demo/llama.ts";
import { bytePrompts } from "../../../src/demo/prompts.ts";
import type { TokenText } from "../../../src/demo/texts.ts";

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

function decodeWith(
  sequences: readonly LlamaSequence[],
  contextSize: number,
  given: DecodeOptions = options,
  stopped: () => boolean = () => false,
  keep: (text: TokenText) => void = () => undefined,
) {
  return decode(
    sequences,
    contextSize,
    given,
    bytePrompts(given.promptTokens, given.seed),
    stopped,
    () => undefined,
    keep,
  );
}

describe("decoding", () => {
  test("clears the context when it is full and begins again", async () => {
    const { sequence, calls } = fakeSequence();
    const decoded = await decodeWith([sequence], 16);
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
    const decoded = await decodeWith([fakeSequence().sequence], 64, options, stopped);
    expect([decoded.prefills, decoded.decodeTokens]).toEqual([1, 3]);
    const never = await decodeWith([fakeSequence().sequence], 64, options, () => true);
    expect(never).toMatchObject({ prefills: 0, decodeTokens: 0, ttftMs: null });
  });

  test("hands on each prompt with all tokens behind it, the first one too, and that of a prompt that is cut short", async () => {
    const texts: TokenText[] = [];
    await decodeWith([fakeSequence().sequence], 16, options, undefined, (text) => texts.push(text));
    expect(texts.map(({ index, prompt, output }) => [index, prompt.length, output])).toEqual([
      [0, 6, [6, 7, 8, 9, 10, 11, 12, 13, 14, 15]],
      [1, 6, [6, 7, 8, 9]],
    ]);
  });

  test("takes so many prompts in turn over all sequences, with so many tokens behind each", async () => {
    const fakes = [fakeSequence(), fakeSequence()];
    const limits = { ...options, tokens: null, outputTokens: 4, prompts: 3 };
    const decoded = await decodeWith(
      fakes.map(({ sequence }) => sequence),
      64,
      limits,
    );
    // Of four tokens behind a prompt the first comes out of the prompt's own pass.
    expect([decoded.prefills, decoded.decodeTokens]).toEqual([3, 9]);
    expect(fakes.map(({ calls }) => calls)).toEqual([
      ["prompt of 6, seed 1", "clear at 9", "prompt of 6, seed 3"],
      ["prompt of 6, seed 2", "clear at 9"],
    ]);
  });
});
