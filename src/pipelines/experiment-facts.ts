/** What an experiment says of one of its runs, as metadata.json keeps it. */
import { z } from "zod";

export const experimentFactsSchema = z.object({
  name: z.string(),
  /** Description, version and the like, and the model's entry, as the file has them. */
  about: z.record(z.string(), z.unknown()),
  model: z.record(z.string(), z.unknown()),
  context_length: z.int(),
  batch_size: z.int(),
  output_tokens: z.int(),
  prompt_tokens: z.int(),
  prompts: z.int(),
  rep_index: z.int(),
  is_warmup: z.boolean(),
});
export type ExperimentFacts = z.output<typeof experimentFactsSchema>;

/** The experiment's part of facts or metadata; null outside of one, or where it cannot be read. */
export function readExperimentFacts(value: unknown): ExperimentFacts | null {
  const parsed = experimentFactsSchema.safeParse(value);
  return parsed.success ? parsed.data : null;
}
