/** Prompts as tokens: seeded, of an exact length, or from a file. */

import type { LlamaModel } from "./llama.ts";
import { BEGIN_TOKEN, FIRST_BYTE_TOKEN } from "./model/vocabulary.ts";

/** The tokens of the prompt with this number, from 0. */
export type PromptSource = (index: number) => readonly number[];

/** Numbers below 2^16, the same for the same seed and prompt. */
function drawer(seed: number, index: number): () => number {
  let state = (Math.imul(seed + 1, 0x9e3779b1) + Math.imul(index + 1, 0x85ebca77)) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 16;
  };
}

/** Prompts of printable bytes behind the begin token, for models of our own vocabulary. */
export function bytePrompts(length: number, seed: number): PromptSource {
  return (index) => {
    const draw = drawer(seed, index);
    return Array.from({ length }, (_, place) => {
      const drawn = draw() % 95;
      return place === 0 ? BEGIN_TOKEN : FIRST_BYTE_TOKEN + 0x20 + drawn;
    });
  };
}

/** What any model begins a text with. */
function beginning(model: LlamaModel): number[] {
  const { bos, shouldPrependBosToken } = model.tokens;
  return shouldPrependBosToken && bos !== null ? [bos] : [];
}

/** Prompts of words drawn from a model's vocabulary, none of which has a meaning of its own to the engine. */
export function vocabularyPrompts(
  length: number,
  seed: number,
  model: LlamaModel,
  vocabularySize: number,
): PromptSource {
  const isWord = (token: number): boolean => !model.isSpecialToken(token) && !model.isEogToken(token);
  return (index) => {
    const draw = drawer(seed, index);
    const tokens = beginning(model).slice(0, length);
    while (tokens.length < length) {
      let token = (draw() * 2 ** 16 + draw()) % vocabularySize;
      // A vocabulary of nothing but special words is none: the next word is taken as it is.
      for (let tries = 0; tries < 64 && !isWord(token); tries++) token = (token + 1) % vocabularySize;
      tokens.push(token);
    }
    return tokens;
  };
}

/**
 * Prompts from texts, taken in turn; each cut to `length` tokens and, where `isExact`, repeated until it has them.
 * @throws Error where a text has no tokens
 */
export function textPrompts(
  texts: readonly string[],
  length: number,
  isExact: boolean,
  model: LlamaModel,
): PromptSource {
  return (index) => {
    const words = model.tokenize(texts[index % texts.length] ?? "");
    if (words.length === 0) throw new Error(`prompt ${index % texts.length} has no tokens`);
    const tokens = [...beginning(model)];
    do tokens.push(...words);
    while (isExact && tokens.length < length);
    return tokens.slice(0, length);
  };
}
