/** Prefill, decode until the context is full, clear, and again: what a server's slot does over a day, in seconds. */
import { BEGIN_TOKEN, FIRST_BYTE_TOKEN } from "../gguf/vocabulary.ts";
import type { LlamaSequence } from "./llama.ts";
import type { DecodeOptions } from "./options.ts";

const TEMPERATURE = 0.8;

export interface Decoded {
  /** Prompts evaluated: one more than the context was cleared. */
  readonly prefills: number;
  /** Tokens decoded one at a time, which leaves out the first of each prefill. */
  readonly decodeTokens: number;
  /** Time in those single-token steps. */
  readonly decodeMs: number;
  /** From the first prompt to the first token; null when stopped before it. */
  readonly ttftMs: number | null;
  /** SHA-256 over all sampled token ids: the same for the same model, options and machine. */
  readonly tokenDigest: string;
}

/** A prompt of printable bytes behind the begin token, another one for each pass. */
export function promptTokens(length: number, seed: number, pass: number): number[] {
  let state = (Math.imul(seed + 1, 0x9e3779b1) + Math.imul(pass + 1, 0x85ebca77)) >>> 0;
  return Array.from({ length }, (_, place) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return place === 0 ? BEGIN_TOKEN : FIRST_BYTE_TOKEN + 0x20 + ((state >>> 16) % 95);
  });
}

/**
 * Decodes until a limit of `options` is reached or `stopped` says so, which is asked after every token.
 * @param contextSize tokens that fit, as the engine says
 * @param progress called after every token
 */
export async function decode(
  sequence: LlamaSequence,
  contextSize: number,
  options: DecodeOptions,
  stopped: () => boolean,
  progress: (decodeTokens: number, prefills: number) => void,
): Promise<Decoded> {
  const digest = new Bun.CryptoHasher("sha256");
  let [prefills, decodeTokens, decodeMs] = [0, 0, 0];
  let ttftMs: number | null = null;
  let deadline = Number.POSITIVE_INFINITY;
  const ended = () => stopped() || decodeTokens >= (options.tokens ?? Infinity) || performance.now() >= deadline;

  while (!ended()) {
    if (prefills > 0) await sequence.clearHistory();
    const prompt = promptTokens(options.promptTokens, options.seed, prefills);
    const seed = (options.seed + prefills) >>> 0;
    prefills += 1;
    let previous: number | null = null;
    const began = performance.now();
    for await (const token of sequence.evaluate(prompt, { temperature: TEMPERATURE, seed, yieldEogToken: true })) {
      const now = performance.now();
      if (previous !== null) {
        decodeTokens += 1;
        decodeMs += now - previous;
      } else if (ttftMs === null) {
        ttftMs = now - began;
        deadline = now + (options.seconds ?? Infinity) * 1000;
      }
      previous = now;
      digest.update(`${token} `);
      progress(decodeTokens, prefills);
      // The engine would start to shift the context one token before it is full.
      if (ended() || sequence.nextTokenIndex >= contextSize - 1) break;
    }
  }
  return { prefills, decodeTokens, decodeMs, ttftMs, tokenDigest: digest.digest("hex") };
}
