/** What the demo was given and made, as texts: kept as tokens while it decodes, and made into words once it has ended. */
import { writeSync } from "node:fs";
import type { PromptOutputs } from "../schema/prompt-outputs.ts";
import type { LlamaModel } from "./llama.ts";

/** Variable of the environment with the descriptor of the file that takes the texts. */
export const TEXTS_FD = "MRM_TRACE_DEMO_TEXTS_FD";

/** Where the texts go; null where nobody wants them. */
export function textsFd(env: NodeJS.ProcessEnv = process.env): number | null {
  return env[TEXTS_FD] === undefined ? null : Number(env[TEXTS_FD]);
}

/** Tokens that are kept, some 8 MB: more would change the memory that is looked at. */
const MOST_TOKENS = 2 ** 20;

/** One prompt with what was decoded behind it. */
export interface TokenText {
  readonly index: number;
  readonly prompt: readonly number[];
  readonly output: readonly number[];
  readonly duration_ms: number;
}

export interface KeptTokens {
  add(text: TokenText): void;
  readonly texts: readonly TokenText[];
  readonly leftOut: number;
}

/** Keeps the first texts, as many as have `most` tokens together. */
export function keepTokens(most = MOST_TOKENS): KeptTokens {
  const texts: TokenText[] = [];
  let tokens = 0;
  let leftOut = 0;
  return {
    texts,
    add(text) {
      tokens += text.prompt.length + text.output.length;
      if (tokens <= most) texts.push(text);
      else leftOut += 1;
    },
    get leftOut() {
      return leftOut;
    },
  };
}

/** The texts of what was kept, in the order in which prompts were begun. */
export function promptOutputs({ texts, leftOut }: KeptTokens, model: Pick<LlamaModel, "detokenize">): PromptOutputs {
  const prompts = texts
    .toSorted((a, b) => a.index - b.index)
    .map(({ index, prompt, output, duration_ms }) => ({
      index,
      prompt: model.detokenize(prompt),
      output: model.detokenize(output),
      prompt_tokens: prompt.length,
      tokens_generated: output.length,
      duration_s: duration_ms / 1000,
    }));
  return { prompts, prompts_left_out: leftOut };
}

/** Writes them to an open file, from its begin. @throws as writeSync does */
export function publishTexts(outputs: PromptOutputs, fd: number): void {
  const bytes = Buffer.from(JSON.stringify(outputs));
  for (let offset = 0; offset < bytes.length; ) offset += writeSync(fd, bytes, offset, bytes.length - offset, offset);
}
