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

const PROMPT_SEQUENCES = "prompt_sequences";

/** Sequences of which a batch has one token, which is of their prompt, as its engine tells; none where it does not. */
export function promptSequences(step: { readonly detail: string | null }): readonly unknown[] {
  // Most steps tell of none, and there are many.
  if (!step.detail?.includes(PROMPT_SEQUENCES)) return [];
  const sequences = detailOf(step)[PROMPT_SEQUENCES];
  return Array.isArray(sequences) ? sequences : [];
}
