/** What is said of classes whose memory nobody named: they are guesses, and no figure of theirs may pass for more. */
import { formatBytes } from "../../units.ts";
import type { MappedTotal } from "./label-totals.ts";

/** One sentence for all classes with guessed bytes; none where every label has evidence. */
export function guessWarnings(totals: readonly MappedTotal[]): string[] {
  const guessed = totals.filter(({ guessed_bytes }) => guessed_bytes > 0);
  if (guessed.length === 0) return [];
  const parts = guessed.map(
    ({ region_type, guessed_bytes, bytes }) =>
      `${region_type} (${formatBytes(guessed_bytes)} of ${formatBytes(bytes)})`,
  );
  return [
    `the engine told of no tensors: by a guess, from when memory was mapped and how much, labelled are ${parts.join(", ")}`,
  ];
}
