/** Which part of a prompt, or of several, came from the cache of the engine, in words. */

/** In percent, `32.3 %`; null where the tokens of the prompt or those of the cache are not known, and of no prompt. */
export function reusedShareText(reused: number | null | undefined, prompt: number | null | undefined): string | null {
  if (reused == null || prompt == null || !(prompt > 0 && reused >= 0 && reused <= prompt)) return null;
  return `${Number(((100 * reused) / prompt).toPrecision(3))} %`;
}
