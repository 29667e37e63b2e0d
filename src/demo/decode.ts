/** Prefill, decode, clear, and again: what a server's slots do over a day, in seconds. */

import type { DecodeOptions } from "./demo-options.ts";
import type { LlamaSequence } from "./llama.ts";
import type { PromptSource } from "./prompts.ts";
import type { TokenText } from "./texts.ts";

const TEMPERATURE = 0.8;

export interface Decoded {
  /** Prompts evaluated, of all sequences. */
  readonly prefills: number;
  /** Tokens decoded one at a time, which leaves out the first of each prefill. */
  readonly decodeTokens: number;
  /** Time in those steps: from the first token of each pass to its last. */
  readonly decodeMs: number;
  /** Each of those steps as its sequence saw it, in ms. */
  readonly tokenMs: readonly number[];
  /** From the first prompt to the first token; null when stopped before it. */
  readonly ttftMs: number | null;
  /** SHA-256 over all sampled token ids, sequence by sequence: the same for the same model, options and machine. */
  readonly tokenDigest: string;
}

/**
 * Decodes until a limit of `options` is reached or `stopped` says so, which is asked after every token. In each pass every
 * sequence takes its next prompt, and the engine puts their tokens into one batch.
 * @param contextSize tokens that fit into each sequence, as the engine says
 * @param progress called after every token
 * @param keep gets each prompt with what was decoded behind it, once that has ended
 */
export async function decode(
  sequences: readonly LlamaSequence[],
  contextSize: number,
  options: DecodeOptions,
  promptOf: PromptSource,
  stopped: () => boolean,
  progress: (decodeTokens: number, prefills: number) => void,
  keep: (text: TokenText) => void,
): Promise<Decoded> {
  const digests = sequences.map(() => new Bun.CryptoHasher("sha256"));
  const mostPrompts = options.prompts ?? Number.POSITIVE_INFINITY;
  let [prefills, decodeTokens, decodeMs] = [0, 0, 0];
  const tokenMs: number[] = [];
  let ttftMs: number | null = null;
  let deadline = Number.POSITIVE_INFINITY;
  const ended = () => stopped() || decodeTokens >= (options.tokens ?? Infinity) || performance.now() >= deadline;

  while (!ended() && prefills < mostPrompts) {
    if (prefills > 0) await Promise.all(sequences.map((sequence) => sequence.clearHistory()));
    const firstPrompt = prefills;
    const active = sequences.slice(0, mostPrompts - firstPrompt);
    prefills += active.length;
    const began = performance.now();
    let [first, last] = [Number.POSITIVE_INFINITY, 0];
    await Promise.all(
      active.map(async (sequence, place) => {
        const prompt = promptOf(firstPrompt + place);
        const seed = (options.seed + firstPrompt + place) >>> 0;
        const output: number[] = [];
        let previous = 0;
        for await (const token of sequence.evaluate(prompt, { temperature: TEMPERATURE, seed, yieldEogToken: true })) {
          const now = performance.now();
          output.push(token);
          if (output.length > 1) {
            decodeTokens += 1;
            tokenMs.push(now - previous);
          }
          previous = now;
          if (ttftMs === null) {
            ttftMs = now - began;
            deadline = now + (options.seconds ?? Infinity) * 1000;
          }
          first = Math.min(first, now);
          last = now;
          digests[place]?.update(`${token} `);
          progress(decodeTokens, prefills);
          const isDone = output.length >= (options.outputTokens ?? Infinity);
          // The engine would start to shift the context one token before it is full.
          if (ended() || isDone || sequence.nextTokenIndex >= contextSize - 1) break;
        }
        keep({ index: firstPrompt + place, prompt, output, duration_ms: Math.max(0, previous - began) });
      }),
    );
    decodeMs += Math.max(0, last - first);
  }
  const [only] = digests;
  const digestOfAll = new Bun.CryptoHasher("sha256");
  for (const digest of digests.length > 1 ? digests : []) digestOfAll.update(digest.digest());
  const tokenDigest = digests.length === 1 && only ? only.digest("hex") : digestOfAll.digest("hex");
  return { prefills, decodeTokens, decodeMs, tokenMs, ttftMs, tokenDigest };
}
