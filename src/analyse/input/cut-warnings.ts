/** What is said of batches that had not returned at the end: which of their rows were written is not known, and none of them counts. */
import { cutBatches, type StepRow } from "../../label/timeline/step-row.ts";
import { formatCounted } from "../../units.ts";

/** One sentence for all of them; none where every batch returned. */
export function cutWarnings(steps: readonly StepRow[]): string[] {
  const cut = [...cutBatches(steps)];
  if (cut.length === 0) return [];
  const tokens = cut.reduce((sum, { n_tokens }) => sum + (n_tokens ?? 0), 0);
  const who = cut.length === 1 ? "a batch" : `${cut.length} batches`;
  return [
    `${who} of ${formatCounted(tokens, "token")} had not returned at the end: which of its rows were written is not known, and none of them counts`,
  ];
}
