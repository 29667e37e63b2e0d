/** The prompts of our client: texts as they are or as long as they may be, or tokens that are drawn. */
import { z } from "zod";
import { MrmTraceError } from "../errors.ts";
import { seededRandom } from "../statistics/prng.ts";
import { ask } from "./ask.ts";
import type { Drive } from "./drive-messages.ts";

/** A text, or the numbers of its tokens. */
export type Prompt = string | readonly number[];

const answerSchema = z.object({ tokens: z.array(z.int().min(0)) });

/** A text in the tokens of the server. @throws MrmTraceError target, where it does not tell them */
async function tokenised(url: string, content: string, add_special: boolean, signal: AbortSignal): Promise<number[]> {
  // In the words of llama-server, and in those of vLLM.
  const words = { content, add_special, prompt: content, add_special_tokens: add_special };
  const response = await ask(`${url}/tokenize`, signal, words);
  const tokens = response.ok ? answerSchema.safeParse(await response.json()).data?.tokens : undefined;
  if (tokens !== undefined) return tokens;
  const hint =
    "check that the command is a llama-server or vLLM with a tokenizer, which tell the tokens of a text at /tokenize";
  throw new MrmTraceError("target", `the server answered ${response.status} to /tokenize, and no tokens`, hint);
}

/** A text as tokens, `most` at most; where it is to be exact it is repeated until it has them. */
async function fitted(
  url: string,
  text: string,
  { tokens: most, is_exact }: { readonly tokens: number; readonly is_exact: boolean },
  signal: AbortSignal,
): Promise<number[]> {
  const tokens = await tokenised(url, text, true, signal);
  const again = is_exact && tokens.length < most ? await tokenised(url, text, false, signal) : [];
  while (again.length > 0 && tokens.length < most) tokens.push(...again);
  return tokens.slice(0, most);
}

/**
 * The prompt of each request by its number, from 0.
 * @throws MrmTraceError target, where the server does not tell the tokens of a text that must fit
 */
export async function promptSource(
  { url, prompts }: Pick<Drive, "url" | "prompts">,
  signal: AbortSignal,
): Promise<(index: number) => Prompt> {
  if ("drawn" in prompts) {
    const { tokens, vocabulary, seed } = prompts.drawn;
    return (index) => {
      const random = seededRandom(seed, index);
      return Array.from({ length: tokens }, () => Math.floor(vocabulary * random()));
    };
  }
  const { texts, fit } = prompts;
  if (fit === null) return (index) => texts[index % texts.length] ?? "";
  const all: number[][] = [];
  for (const text of texts) all.push(await fitted(url, text, fit, signal));
  return (index) => all[index % all.length] ?? [];
}
