/** THE options of a run: one schema, from which types, defaults and the flags' help come. */
import { z } from "zod";
import { MrmTraceError } from "../errors.ts";
import { loopbackAddress } from "./loopback-url.ts";
import { choiceText, wantedText } from "./type-text.ts";
import { duration, numeric, percent, size, valueHints, whole } from "./values.ts";
import { MOST_WATCHED_WORDS, watchedWord } from "./watched-word.ts";

/** Collectors by name; `process` runs beside whichever are asked for. */
export const COLLECTOR_NAMES = ["ebpf", "perf-mem", "memray", "process"] as const;
export type CollectorName = (typeof COLLECTOR_NAMES)[number];

/** Sources of accesses by name: hardware watchpoints, samples of Intel's and AMD's PMUs, and of a timer. */
export const SOURCE_NAMES = ["auto", "watch", "pebs", "ibs", "clock"] as const;

/** What memray may be told to record. */
export const MEMRAY_OPTIONS = ["native", "follow-fork", "aggregate", "python-allocators"] as const;
export type MemrayOption = (typeof MEMRAY_OPTIONS)[number];

/** Events of perf-mem by name. */
const PERF_EVENTS = ["mem", "page-faults", "cpu-clock"] as const;

/** What is kept of command lines: all of them, all but what looks like a secret, or nothing. */
export const COMMAND_RECORDINGS = ["full", "masked", "none"] as const;
export type CommandRecording = (typeof COMMAND_RECORDINGS)[number];

/** Some of these names, `least` or more, each once, as an array or as text with commas. */
function listOf<const T extends readonly string[]>(names: T, least = 1) {
  return z
    .preprocess(
      (value: string | readonly T[number][]) =>
        typeof value === "string" ? value.split(",").map((name) => name.trim()) : value,
      z.array(z.enum(names)).min(least),
    )
    .transform((given) => [...new Set(given)]);
}

/** Words of a list, as an array or as text with commas. */
const words = z.preprocess(
  (value) => (typeof value === "string" ? value.split(",").map((word) => word.trim()) : value),
  z.array(z.string().min(1)).min(1),
);

/** What the eBPF collector may record beside mappings. */
export const EBPF_PARTS = ["faults", "engine", "accesses", "residency"] as const;

/** Parts of the eBPF collector by name, or words to watch. */
const ebpfParts = words
  .refine((given) => given.every((word) => (EBPF_PARTS as readonly string[]).includes(word) || watchedWord(word)), {
    error: `${EBPF_PARTS.join(", ")} or mem:0xADDRESS/8:rw expected, the address a multiple of its size`,
  })
  .refine((given) => given.filter((word) => watchedWord(word)).length <= MOST_WATCHED_WORDS, {
    error: `at most ${MOST_WATCHED_WORDS} words expected, as a CPU has so many registers`,
  })
  .transform((given) => [...new Set(given)]);

export const runSchema = z.object({
  output: z
    .string()
    .min(1)
    .default("results")
    .describe("folder for run directories")
    .register(valueHints, { hint: "DIR" }),
  force: z.boolean().default(false).describe("replace a run directory that is there already"),
  run_id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/, "at most 80 letters, digits, dots, dashes and underscores expected")
    .optional()
    .describe("name of the run; default: UTC time and four hex digits")
    .register(valueHints, { hint: "NAME" }),
  collector: listOf(COLLECTOR_NAMES)
    .default(["ebpf"])
    .describe(`${COLLECTOR_NAMES.join(", ")}; several with commas between`),
  source: listOf(SOURCE_NAMES).default(["auto"]).describe("sources: auto (the best), watch, pebs, ibs, clock"),
  ebpf: ebpfParts
    .default([...EBPF_PARTS])
    .describe(`what ebpf records beside mappings: ${EBPF_PARTS.join(", ")}; mem:0xADDRESS/8:rw watches that word alone`)
    .register(valueHints, { hint: "NAMES", words: EBPF_PARTS }),
  clock_hz: numeric(z.number().min(1).max(10_000))
    .default(100)
    .describe("samples per second and CPU of --source clock, within --budget"),
  memray: listOf(MEMRAY_OPTIONS, 0)
    .default(["follow-fork"])
    .describe(`what --collector memray records: ${MEMRAY_OPTIONS.join(", ")}`),
  perf: words
    .default(["mem"])
    .describe("what perf-mem records: mem, page-faults, cpu-clock, period=N, ...")
    .register(valueHints, { hint: "NAMES", words: PERF_EVENTS }),
  duration: duration.optional().describe("stop after this time, such as 30s"),
  budget: percent(0.01, 50)
    .default(1)
    .describe(
      "share of each CPU that watching and sampling may cost, in percent; probes, faults and mapping calls add to it",
    ),
  check_invariance: z
    .boolean()
    .default(false)
    .describe("watch with the budget and a quarter of it by turns, and say which figures that moves"),
  seed: whole(0, 0xffffffff).default(1).describe("seed of every random choice"),
  max_size: size
    .default(4 * 2 ** 30)
    .describe("stop recording when capture has this size, such as 4GiB; the command runs on"),
  watch_registers: whole(0, 4).default(4).describe("debug registers to use on each CPU; 0 watches nothing"),
  baseline: duration.default(2e9).describe("how long the machine is looked at before the run, such as 2s"),
  record_command: z
    .enum(COMMAND_RECORDINGS)
    .default("masked")
    .describe("how command lines are kept: full, masked (without what looks like a secret) or none"),
  record_only: z
    .boolean()
    .default(false)
    .describe("derive nothing: `mrm-trace analyse` does it later, here or on another machine"),
  engine_metrics: loopbackAddress
    .optional()
    .describe("where a llama-server tells its counters: the tokens that it counts itself stand beside ours")
    .register(valueHints, { hint: "URL" }),
  json: z.boolean().default(false).describe("print one JSON object on stdout"),
  table: z.boolean().default(false).describe("print every figure with its method and reason"),
  quiet: z.boolean().default(false).describe("print no progress and no result"),
  verbose: z.boolean().default(false).describe("say what is attached"),
  debug: z.boolean().default(false).describe("print stack traces and the log of libbpf"),
  color: z.enum(["auto", "always", "never"]).default("auto").describe("auto, always or never"),
});
export type RunOptions = z.output<typeof runSchema>;

/** Options that say where a run lies and how it is told, not what it is. */
export const ofPresentation = {
  output: true,
  force: true,
  run_id: true,
  record_only: true,
  json: true,
  table: true,
  quiet: true,
  verbose: true,
  debug: true,
  color: true,
} as const satisfies Partial<Record<keyof RunOptions, true>>;

/** What `attach` takes: nothing that needs to launch the target. */
export const attachSchema = runSchema.omit({ memray: true });
export type AttachOptions = z.output<typeof attachSchema>;

/** What `analyse` takes; all but the last few options are for traces that were recorded elsewhere. */
export const analyseSchema = z.object({
  period: whole(1, 1e12)
    .optional()
    .describe("accesses that each row of a trace.parquet stands for; 1: it holds every access"),
  memory: size
    .optional()
    .describe(
      "memory that deriving may take; default: 600MiB, or a sixteenth of what is left where that is more, 2GiB at most",
    ),
  ...runSchema.pick({ output: true, run_id: true, force: true, seed: true }).shape,
  ...runSchema.pick({ json: true, table: true, quiet: true, color: true, debug: true }).shape,
});

export const demoSchema = z.object({
  params: z
    .enum(["1m", "15m", "110m", "1.1b"])
    .default("110m")
    .describe("size of the demo's model: 0.427, 24.4, 134 and 1100 million parameters, embeddings included"),
  type: z.enum(["f16", "q8_0", "q4_0"]).default("q8_0").describe("type of the demo's weights"),
  seconds: numeric(z.number().min(0.1).max(86400)).default(30).describe("how long the demo decodes"),
  tokens: whole(1, 1e9).optional().describe("tokens to decode instead"),
  prompt_tokens: whole(1, 1e6).default(66).describe("tokens of the demo's prompt"),
  context_tokens: whole(16, 1e6).default(512).describe("length of the demo's context"),
  threads: whole(1, 1024).optional().describe("threads of the demo; default: cores - 1, at least 1"),
  model: z
    .string()
    .min(1)
    .optional()
    .describe("GGUF to decode instead of random weights")
    .register(valueHints, { hint: "FILE" }),
  sequences: whole(1, 64).default(1).describe("sequences that the demo decodes in parallel"),
  flash_attention: z.boolean().default(true).describe("flash attention in the demo"),
});
export type DemoOptions = z.output<typeof demoSchema>;

/** How a file of experiments is run; no options of one run. */
export const sweepFlagsSchema = z.object({
  config: z
    .string()
    .min(1)
    .optional()
    .describe("YAML file with options, and with experiments to run")
    .register(valueHints, { hint: "FILE" }),
  max_runs: whole(1, 1e7).default(1000).describe("refuse experiments of more runs than this"),
});

export const resumeSchema = z.object({
  resume: z.boolean().default(false).describe("skip the runs of the experiment that are complete"),
});

/** How our own client asks a server. */
export const SERVER_APIS = ["llama-server", "openai", "openai-chat", "ollama", "ollama-chat"] as const;
export type ServerApi = (typeof SERVER_APIS)[number];

/** Our own client of a server, which `run` launches. */
export const serveSchema = z.object({
  serve: duration
    .optional()
    .describe("be the client of the command, a server, for so long: what its requests took stands in the run"),
  api: z
    .enum(SERVER_APIS)
    .default("llama-server")
    .describe(
      "how that server is asked: llama-server, which tells most, openai, as many others are (/v1/completions), openai-chat (/v1/chat/completions), ollama (/api/generate), or ollama-chat (/api/chat)",
    )
    .register(valueHints, { hint: "API", words: [...SERVER_APIS] }),
  clients: whole(1, 64).default(1).describe("requests of that client under way at once"),
  request_tokens: whole(2, 1e6).default(128).describe("tokens of one request of that client"),
  request_timeout: duration
    .default(300e9)
    .describe(
      "give up requests of that client, and ask no more, when the server says nothing to any of them for so long",
    ),
  prompts: z
    .string()
    .min(1)
    .optional()
    .describe(
      "its prompts: a file with one per line, or JSON lines with `prompt` or `text`; default: a few that begin alike",
    )
    .register(valueHints, { hint: "FILE" }),
});
export type ServeOptions = z.output<typeof serveSchema>;

/** What an option is for, without the words that stand beside it. */
function purposeOf(description: string, words: string | null): string {
  if (words === null) return description;
  if (description.replace(/,? or /, ", ") === words) return "";
  return description.replace(`: ${words}`, "").replace(`${words}; `, "");
}

/** What is wrong with the value of an option: what was wanted, what was received, and what it is for. */
export function refusal(
  option: string,
  received: string,
  schema: z.ZodType | undefined,
  otherwise: string,
): MrmTraceError {
  const wanted = schema === undefined ? null : wantedText(schema);
  const message = wanted === null ? otherwise : `${wanted} expected`;
  const words = schema === undefined ? null : choiceText(schema);
  const about = purposeOf(schema?.description ?? "an option that --help lists", words);
  const given = wanted === null ? `change ${option}` : `give ${option} ${wanted}`;
  const hint = about === "" ? given : `${given}: ${about}`;
  return new MrmTraceError("usage", `${option}: ${message}, but received ${received}`, hint);
}

/**
 * Options as the command line gave them, checked.
 * @throws MrmTraceError usage, naming the option, what was received and what it takes
 */
export function parseOptions<T extends z.ZodObject>(schema: T, given: Readonly<Record<string, unknown>>): z.output<T> {
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const result = schema.safeParse(present);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const name = String(issue?.path[0] ?? "option");
  const shape: Record<string, z.ZodType> = schema.shape;
  const received = JSON.stringify(present[name]);
  const isEmpty = present[name] === "" && issue?.code === "too_small";
  const otherwise = isEmpty ? "a text that is not empty expected" : (issue?.message ?? "not valid");
  throw refusal(`--${name.replaceAll("_", "-")}`, received, shape[name], otherwise);
}
