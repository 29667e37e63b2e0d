import { describe, expect, test } from "bun:test";
import { keepTokens, promptOutputs, textsFd } from "../../../src/demo/texts.ts";

const model = { detokenize: (tokens: readonly number[]) => String.fromCharCode(...tokens) };
const text = (index: number, prompt: number[], output: number[]) => ({ index, prompt, output, duration_ms: 1500 });

describe("the texts of the demo", () => {
  test("are words in the order of the prompts, whichever ended first", () => {
    const kept = keepTokens();
    kept.add(text(1, [99], [100]));
    kept.add(text(0, [65, 66], [67, 68, 69]));
    expect(promptOutputs(kept, model)).toEqual({
      prompts: [
        { index: 0, prompt: "AB", output: "CDE", prompt_tokens: 2, tokens_generated: 3, duration_s: 1.5 },
        { index: 1, prompt: "c", output: "d", prompt_tokens: 1, tokens_generated: 1, duration_s: 1.5 },
      ],
      prompts_left_out: 0,
    });
  });

  test("are the first that have so many tokens together, and the others are counted", () => {
    const kept = keepTokens(4);
    for (const index of [0, 1, 2]) kept.add(text(index, [65], [66]));
    const { prompts, prompts_left_out } = promptOutputs(kept, model);
    expect([prompts.length, prompts_left_out]).toEqual([2, 1]);
  });

  test("are handed over only where somebody asks for them", () => {
    expect(textsFd({})).toBeNull();
    expect(textsFd({ MRM_TRACE_DEMO_TEXTS_FD: "4" })).toBe(4);
  });
});
