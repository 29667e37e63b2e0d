/** prompt_outputs.json: the texts that the demo engine was given and made, one entry a prompt; keys of the Python package. */
import { z } from "zod";

/** Of characters; more than any prompt of a demo has, and few enough to be read at once. */
const MOST_TEXT = 2 ** 24;
const count = z.int().min(0);
const text = z.string().max(MOST_TEXT);

export const promptOutputsSchema = z.strictObject({
  prompts: z
    .array(
      z.strictObject({
        /** Number of the prompt, from 0, in the order in which prompts were begun. */
        index: count,
        prompt: text,
        /** Whatever the model said; where its bytes are no text they are replaced by U+FFFD. */
        output: text,
        prompt_tokens: count,
        /** The first token, which comes out of the prompt's own pass, counts too. */
        tokens_generated: count,
        /** From the begin of the prompt to its last token. */
        duration_s: z.number().min(0),
      }),
    )
    .max(2 ** 20),
  /** Prompts behind those that were kept: of so many tokens that not all texts are. */
  prompts_left_out: count,
});
export type PromptOutputs = z.output<typeof promptOutputsSchema>;
