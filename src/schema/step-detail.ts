/** The JSON object in the detail of a row of the step table. */

/** The object in the detail of a step; empty where there is none. */
export function detailOf({ detail }: { readonly detail: string | null }): Readonly<Record<string, unknown>> {
  if (detail === null) return {};
  try {
    const value: unknown = JSON.parse(detail);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // What is no JSON says nothing.
    return {};
  }
}

/** Results of a batch of which no token was computed: no cells were free for it (a server asks again with a smaller one), or it was not valid. */
const PLACED_NOTHING: ReadonlySet<number> = new Set([1, -1]);

/** True for the result of a batch that left its cache as it was; any other than 0 may be of one that was given up in its midst. */
export const hasPlacedNothing = (result: number): boolean => PLACED_NOTHING.has(result);

const PROMPT_SEQUENCES = "prompt_sequences";
const DRAFTS = "drafts";
const KEPT_GUESSES = "kept_guesses";
const DRAFTED_BY = "drafted_by";
const REPEATS_STEPS = "repeats_steps";
const MIXES_TOKENS = "mixes_tokens";

/** Sequences of which a batch has one token, which is of their prompt, as its engine tells; none where it does not. */
export function promptSequences(step: { readonly detail: string | null }): readonly unknown[] {
  // Most steps tell of none, and there are many.
  if (!step.detail?.includes(PROMPT_SEQUENCES)) return [];
  const sequences = detailOf(step)[PROMPT_SEQUENCES];
  return Array.isArray(sequences) ? sequences : [];
}

/** Guesses that a batch has behind a token that was sampled, by their sequence, as its engine tells; empty where it does not. */
export function draftGuesses(step: { readonly detail: string | null }): ReadonlyMap<unknown, number> {
  const guesses = new Map<unknown, number>();
  if (!step.detail?.includes(DRAFTS)) return guesses;
  const drafts = detailOf(step)[DRAFTS];
  for (const draft of Array.isArray(drafts) ? drafts : []) {
    const [sequence, count]: unknown[] = Array.isArray(draft) ? draft : [];
    if (typeof count === "number" && Number.isSafeInteger(count) && count > 0) guesses.set(sequence, count);
  }
  return guesses;
}

/** Tokens of a batch that are no guesses; a detail that tells of more guesses than the batch has tokens is not believed. */
export function surelyTaken(n_tokens: number, step: { readonly detail: string | null }): number {
  let tokens = n_tokens;
  for (const count of draftGuesses(step).values()) tokens -= count;
  return tokens > 0 ? tokens : n_tokens;
}

/** Guesses that stay where a sequence is trimmed. */
export function keptGuesses(step: { readonly detail: string | null }): number {
  if (!step.detail?.includes(KEPT_GUESSES)) return 0;
  const kept = detailOf(step)[KEPT_GUESSES];
  return typeof kept === "number" && Number.isSafeInteger(kept) && kept > 0 ? kept : 0;
}

/** The context of a draft model that made the guesses of a batch, by its handle; null where the batch has none, or nobody knows it. */
export function draftedBy(step: { readonly detail: string | null }): string | null {
  if (!step.detail?.includes(DRAFTED_BY)) return null;
  const drafter = detailOf(step)[DRAFTED_BY];
  return typeof drafter === "string" ? drafter : null;
}

/** True where an engine says that its process makes the steps of another one too, as each worker of a model that is spread over several does. */
export function repeatsSteps(step: { readonly detail: string | null }): boolean {
  return step.detail?.includes(REPEATS_STEPS) === true && detailOf(step)[REPEATS_STEPS] === true;
}

/** True where an engine says that its batches of several tokens may be of prompts, or decode, or check what was guessed, and that nobody knows which. */
export function mixesTokens(step: { readonly detail: string | null }): boolean {
  return step.detail?.includes(MIXES_TOKENS) === true && detailOf(step)[MIXES_TOKENS] === true;
}

/** The context that a step is of, by its handle; null where it is not known. */
export function contextOf({ detail }: { readonly detail: string | null }): string | null {
  // Looked for, as each of many steps is asked and the rest of a detail may be long.
  return detail === null ? null : (/"context":"([^"]*)"/.exec(detail)?.[1] ?? null);
}
