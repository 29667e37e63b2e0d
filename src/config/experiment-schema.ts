/** THE schema of a configuration file: the options of runs, and experiments in the form of the Python package. */
import { z } from "zod";
import { analyserSchema, collectorSchema, labellerSchema, outputSchema, telemetrySchema } from "./python-keys.ts";
import { demoSchema, runSchema } from "./schema.ts";

/** The engine's probes tell this many sequences of a batch apart. */
const MOST_SEQUENCES = 64;
const MOST_CONTEXT_TOKENS = 1e6;
const MOST_REPETITIONS = 10_000;

/** A list of one axis of the sweep. */
function axis(least: number, most: number, first: number) {
  return z.array(z.int().min(least).max(most)).min(1).default([first]);
}

const aboutSchema = z.strictObject({
  name: z.string().trim().min(1).max(200).describe("name of the experiment, in runs.csv and metadata.json"),
  description: z.string().optional().describe("kept in metadata.json, as are the next five"),
  version: z.string().default("1.0.0"),
  authors: z.array(z.string()).optional(),
  date_created: z.string().optional(),
  institution: z.string().optional(),
  paper_ref: z.string().optional(),
});

export const modelSchema = z.strictObject({
  id: z.string().trim().min(1).max(200).describe("name of the model; its slug is the folder of its runs"),
  engine: z
    .enum(["llamacpp", "llama-server", "demo", "vllm", "transformers", "ollama"])
    .describe(
      "llamacpp runs the GGUF at `path` in the demo's engine, llama-server and ollama in the server of that name on PATH, of which we are the client; demo runs one of random weights; transformers runs the Python script at `path`, which is told what to do; vllm serves the folder at `path` by the Python on PATH, of which we are the client too",
    ),
  path: z
    .string()
    .min(1)
    .optional()
    .describe(
      "GGUF of a llamacpp, llama-server or ollama model, the folder of a vllm model, or the script that runs a transformers model, from the current folder",
    ),
  hf_repo: z.string().optional().describe("not fetched: where the file came from"),
  params: demoSchema.shape.params.unwrap().optional().describe("size of a demo model"),
  type: demoSchema.shape.type.unwrap().optional().describe("type of a demo model's weights"),
  family: z.string().optional().describe("kept in metadata.json, as are the next three"),
  params_billions: z.number().optional(),
  quantisation: z.string().optional(),
  dtype: z
    .string()
    .regex(/^[\w.-]{1,40}$/)
    .optional()
    .describe("kept too, and told to vllm"),
});

export const sweepSchema = z.strictObject({
  context_lengths: axis(16, MOST_CONTEXT_TOKENS, 2048).describe("tokens of each sequence's context"),
  batch_sizes: axis(1, MOST_SEQUENCES, 1).describe("sequences decoded in parallel"),
  output_tokens: axis(1, MOST_CONTEXT_TOKENS, 128).describe("tokens decoded behind each prompt"),
  repetitions: z.int().min(1).max(MOST_REPETITIONS).default(1).describe("runs of each combination"),
  warmup_runs: z.int().min(0).max(MOST_REPETITIONS).default(0).describe("runs before them, kept out of aggregates"),
});

export const promptsSchema = z.strictObject({
  source: z
    .string()
    .min(1)
    .default("random")
    .describe("`random` (seeded tokens), or a local file: a prompt per line, or JSON lines with `prompt` or `text`"),
  categories: z.array(z.string()).optional().describe("take only lines of a JSON lines file with these `category`s"),
  tokens: z
    .int()
    .min(1)
    .optional()
    .describe("exact length of each prompt; default: what the context leaves beside output_tokens"),
  count: z.int().min(1).max(1e6).optional().describe("prompts of a run; default: one per parallel sequence"),
});

/** What belongs to one command line and not into a file. */
const runFileSchema = z.strictObject(
  runSchema.omit({ force: true, run_id: true, record_only: true, json: true }).partial().shape,
);

export const configSchema = z.strictObject({
  run: runFileSchema.optional().describe("options of every run, as the flags of `mrm-trace run`"),
  demo: z.strictObject(demoSchema.partial().shape).optional().describe("options of the demo engine"),
  experiment: aboutSchema.optional().describe("what the experiment is"),
  models: z.array(modelSchema).min(1).max(1000).optional().describe("the models to run"),
  sweep: sweepSchema.optional().describe("every combination is run, for every model"),
  prompts: promptsSchema.optional().describe("what is decoded behind"),
  output: outputSchema.optional().describe("where results go"),
  collector: collectorSchema.optional().describe("of the Python package"),
  telemetry: telemetrySchema.optional().describe("of the Python package"),
  labeller: labellerSchema.optional().describe("of the Python package"),
  analyser: analyserSchema.optional().describe("of the Python package"),
});

export type Config = z.output<typeof configSchema>;
export type ModelConfig = z.output<typeof modelSchema>;
export type SweepConfig = z.output<typeof sweepSchema>;
export type PromptsConfig = z.output<typeof promptsSchema>;
