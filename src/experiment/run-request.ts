/** One run of an experiment as the process that makes it is told, and what comes back. */
import { z } from "zod";
import { demoSchema, runSchema, SERVER_APIS } from "../config/schema.ts";
import { experimentFactsSchema } from "../schema/run-details.ts";
import { scriptOf } from "./script-run.ts";
import { serverOf } from "./server-run.ts";
import type { Experiment, PlannedRun } from "./sweep.ts";

/** What crosses the pipe: options are checked already, with their units read. */
export const runRequestSchema = z.object({
  options: runSchema,
  demo: demoSchema,
  workload: z.object({
    output_tokens: z.int(),
    prompts: z.int(),
    prompt_file: z.string().nullable(),
    prompt_categories: z.array(z.string()),
    is_prompt_exact: z.boolean(),
  }),
  /** The server that serves the model, with a mark for its port; null for the demo's engine. */
  server: z
    .object({
      api: z.enum(SERVER_APIS),
      command: z.array(z.string()),
      gguf: z.string(),
      /** Tokens that its model knows; null of a server that takes texts alone. */
      vocabulary: z.int().min(1).nullable(),
    })
    .nullable(),
  /** The command of a script of the user's that runs the model; null for what has none. */
  script: z.array(z.string()).readonly().nullable(),
  model_id: z.string(),
  experiment: experimentFactsSchema,
});
export type OneRunRequest = z.output<typeof runRequestSchema>;

/** The request of a planned run. @param force replaces an incomplete run of the same id */
export function requestOf(experiment: Experiment, planned: PlannedRun, force: boolean): OneRunRequest {
  const { about, prompts, run, demo } = experiment;
  const { model, model_id, run_id, is_warmup, rep_index, ...cell } = planned;
  const { name, ...rest } = about;
  const workload = {
    output_tokens: cell.output_tokens,
    prompts: cell.prompts,
    prompt_file: prompts.source === "random" ? null : prompts.source,
    prompt_categories: prompts.categories ?? [],
    is_prompt_exact: prompts.tokens !== undefined,
  };
  return {
    options: { ...run, run_id, force, json: true },
    demo: {
      ...demo,
      params: model.params ?? demo.params,
      type: model.type ?? demo.type,
      model: model.path,
      context_tokens: cell.context_length,
      prompt_tokens: cell.prompt_tokens,
      sequences: cell.batch_size,
    },
    workload,
    server: serverOf(planned, demo),
    script: scriptOf(planned, workload, run.seed),
    model_id,
    experiment: { name, about: rest, model: { ...model }, ...cell, is_warmup, rep_index },
  };
}
