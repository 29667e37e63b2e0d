/** A run of an experiment in a Python script of the user's, which is told by its arguments what to do. */
import type { OneRunRequest } from "./run-request.ts";
import type { Cell } from "./sweep.ts";

export const SCRIPT_PROGRAM = "python3";
/** Engines whose models a script of the user's loads. */
const SCRIPTED: ReadonlySet<string> = new Set(["transformers"]);

/** The command of a cell; null where no script runs it. */
export function scriptOf(
  { model, context_length, batch_size, prompt_tokens }: Cell,
  { prompts, output_tokens, prompt_file, prompt_categories }: OneRunRequest["workload"],
  seed: number,
): readonly string[] | null {
  if (!SCRIPTED.has(model.engine) || model.path === undefined) return null;
  const numbers = {
    "context-tokens": context_length,
    sequences: batch_size,
    prompts,
    "prompt-tokens": prompt_tokens,
    "output-tokens": output_tokens,
    seed,
  };
  const args = Object.entries(numbers).flatMap(([name, value]) => [`--${name}`, String(value)]);
  if (prompt_file !== null) args.push("--prompt-file", prompt_file);
  for (const category of prompt_categories) args.push("--prompt-category", category);
  return [SCRIPT_PROGRAM, model.path, ...args];
}
