/** What `compare --arms` reports: how much each collector slows its target, and how sure that is. */

import { z } from "zod";
import { SERVER_APIS } from "../config/schema.ts";
import { type ErrorCode, EXIT_CODES } from "../errors.ts";
import { wordsOf } from "./row.ts";

/** The figures of a run, and whether more of one is better. */
export const EFFECT_FIGURES = {
  tokens_per_s: { unit: "tokens/s", better: "more", what: "decoded tokens per second" },
  served_tokens_per_s: { unit: "tokens/s", better: "more", what: "the same of all clients together" },
  engine_tokens_per_s: { unit: "tokens/s", better: "more", what: "of an answer, as the engine counts" },
  ttft_ms: { unit: "ms", better: "less", what: "time to the first token" },
  token_p50_ms: { unit: "ms", better: "less", what: "time between tokens, median" },
  token_p99_ms: { unit: "ms", better: "less", what: "time between tokens, 99th percentile" },
  wall_s: { unit: "s", better: "less", what: "wall time of the process" },
  peak_rss_bytes: { unit: "bytes", better: "less", what: "peak RSS of the process tree" },
} as const;

export type EffectFigure = keyof typeof EFFECT_FIGURES;
const NAMES = Object.keys(EFFECT_FIGURES) as [EffectFigure, ...EffectFigure[]];
export const FIGURE_NAMES: readonly EffectFigure[] = NAMES;

/** The arm without a tracer, and the same arm again: the noise of the machine. */
export const OFF = "off";
export const OFF_AGAIN = "off-again";

/** A number in memory, null in JSON where it is not finite. */
const figure = z.codec(
  z.number().nullable(),
  z.custom<number>((value) => typeof value === "number"),
  { decode: (value) => value ?? Number.NaN, encode: (value) => (Number.isFinite(value) ? value : null) },
);
const figureCodec = z.codec(
  z.number().nullable(),
  z.custom<number | null>((value) => value === null || typeof value === "number"),
  { decode: (value) => value, encode: (value) => (value !== null && Number.isFinite(value) ? value : null) },
);
const count = z.int().min(0);
const text = z.string();
const cpus = z.array(count).readonly();

const figureName = z.enum(NAMES);
const verdict = z.enum(wordsOf("observer_effect", "verdict"));

/** Figures of one run; null for what its workload does not tell. */
export type FigureValues = Readonly<Record<EffectFigure, number | null>>;

const intervalSchema = z
  .object({ value: figure, lo: figure, hi: figure })
  .readonly()
  .describe("an estimate with its two-sided 95 % interval");
export type EffectInterval = z.output<typeof intervalSchema>;

const figureEffect = z
  .object({
    figure: figureName,
    unit: text,
    blocks: count,
    unusable: count.describe("blocks left out, as the figure was missing in a run of them"),
    off: figure.describe("geometric mean over the runs of the usable blocks"),
    on: figure.describe("the same with the tracer"),
    slowdown_pct: intervalSchema.describe("how much worse in %: slower, later, larger"),
    lower_bound_pct: figure.describe("end of the one-sided 95 % interval"),
    upper_bound_pct: figure.describe("end of the one-sided 95 % interval"),
    hodges_lehmann_pct: figure.describe("the slowdown by Hodges and Lehmann: a check that single blocks cannot move"),
    wilcoxon_p: figure.describe("two-sided p of the signed-rank test: a check by order alone, no verdict"),
    sd_pct: figure.describe("standard deviation of the log ratios of the blocks"),
    verdict,
    why: text.nullable().describe("why there is no other verdict; null where the interval decides"),
    repeats_needed: count
      .nullable()
      .describe("runs of each arm with which a verdict can be expected; null where none helps or none is needed"),
  })
  .readonly();
/** One figure of one arm against the arm `off`. */
export type FigureEffect = z.output<typeof figureEffect>;

const armEffect = z
  .object({
    arm: text,
    options: z.array(text).readonly().describe("options of the tracer; empty for off-again"),
    unavailable: text.nullable().describe("why the arm could not run here; null where it did"),
    verdict: verdict.describe("by the figure that decides"),
    figures: z.array(figureEffect).readonly(),
    runs: count.describe("of which the next fields are means"),
    events_kept: figureCodec,
    events_lost: figureCodec,
    loss_pct: figureCodec,
    capture_bytes_per_event: figureCodec,
    tracer_cpu_pct: figureCodec.describe(
      "CPU of everything that the tracer started or is, in % of one CPU, while the target ran",
    ),
    tracer_rss_bytes: figureCodec,
    cost_per_event_ns: intervalSchema
      .nullable()
      .describe("time that the target lost per event; null where runs are no fixed amount of work"),
  })
  .readonly();
export type ArmEffect = z.output<typeof armEffect>;

const ofRun = Object.fromEntries(NAMES.map((name) => [name, figureCodec])) as Record<EffectFigure, typeof figureCodec>;

const tokens = count.nullable();
const runTokens = {
  streamed_tokens: tokens.describe("tokens that our client of a server received; null for what has no such client"),
  engine_tokens: tokens.describe(
    "the same as the engine counts them, in the last event of each answer; null where it does not say",
  ),
  engine_prompt_tokens: tokens.describe("tokens of the prompts that the engine worked on, as it counts them"),
};
export type RunTokens = Readonly<Record<keyof typeof runTokens, number | null>>;

const clientOfRun = z
  .object({
    requests: count,
    streamed_tokens: count,
    ttft_ms: figureCodec.describe("median over its requests"),
    token_p50_ms: figureCodec.describe("over all times between tokens of its requests"),
    token_p99_ms: figureCodec,
  })
  .readonly();
/** What one of several clients of a run saw. */
export type ClientOfRun = z.output<typeof clientOfRun>;

const requestOfRun = z
  .object({
    client: count.describe("number of the client that asked it, from 0"),
    request: text.nullable().describe("its name, as the engine has it; null where it names none"),
    ttft_ms: figureCodec.describe("as our client saw it, as the next two"),
    token_p50_ms: figureCodec,
    token_p99_ms: figureCodec,
    wait_ms: figureCodec.describe("from sending it to the first step that worked on it"),
    prompt_tokens: tokens,
    reused_tokens: tokens.describe("of the prompt, which the engine had in its cache"),
    output_tokens: tokens,
    sequence_id: z.int().nullable(),
    kv_bytes: tokens.describe("bytes of KV that its sequence held behind its last step"),
    saved_bytes: tokens.describe("bytes of KV of reused_tokens, where the rows of its tokens are known"),
    why: text.nullable().describe("why wait_ms or kv_bytes are not known; null where both are"),
  })
  .readonly();
/** A request of a traced run: the times of our client, and what the engine's steps say of it. */
export type RequestOfRun = z.output<typeof requestOfRun>;

const load = z
  .object({
    api: z.enum(SERVER_APIS),
    clients: count.describe("requests under way at once"),
    tokens: count.describe("of one request"),
    block_ns: z.number().min(0).describe("how long requests are begun"),
  })
  .readonly();

const effectRun = z
  .object({
    block: z.int().min(-1).describe("-1 for warm-ups, which count for nothing"),
    arm: text,
    ...ofRun,
    ...runTokens,
    clients: z.array(clientOfRun).readonly().optional().describe("of each client; missing without, and in older files"),
    requests: z
      .array(requestOfRun)
      .readonly()
      .optional()
      .describe("of our clients, but those that warmed the server up; missing without a tracer, and in older files"),
    events_lost: count.optional().describe("events that its tracer lost; missing without one, and in older files"),
    threads: count.nullable(),
    pinned: z.boolean(),
  })
  .readonly();
/** One run, in the order in which they were made. */
export type EffectRun = z.output<typeof effectRun>;

const codes = Object.keys(EXIT_CODES).filter((code) => code !== "ok") as [ErrorCode, ...ErrorCode[]];

export const observerEffectSchema = z
  .object({
    schema_version: text,
    compare_id: text,
    workload: z
      .object({
        kind: z.enum(["demo", "command", "server"]),
        command: z.array(text).readonly(),
        load: load.optional().describe("what our clients ask of a server; missing without, and in older files"),
      })
      .readonly(),
    repeats: count.describe("runs of each arm that were declared before the first one"),
    blocks: count.describe("whole blocks, each with two runs of every arm"),
    seed: count,
    margin_pct: z.number(),
    deciding_figure: figureName,
    stopped_by: z.enum(["complete", "interrupted", "terminated", "hangup", "failed"]),
    failure: z
      .object({ code: z.enum(codes), message: text, hint: text })
      .readonly()
      .nullable()
      .describe("the error that stopped it, where one did: whole blocks before it are kept"),
    settings: z
      .object({
        target_cpus: cpus,
        tool_cpus: cpus,
        threads: count.nullable().describe("most threads of the target; null where none was seen"),
        engine_threads: count.nullable().describe("threads that the engine was told to use; null where nobody said"),
        environment: z.record(text, text).readonly().describe("variables that set threads and how they wait"),
      })
      .readonly(),
    warnings: z.array(text).readonly(),
    arms: z.array(armEffect).readonly().describe("the first is off-again: without its PASS no claim is made"),
    runs: z.array(effectRun).readonly(),
    host: z.record(text, z.unknown()).readonly(),
  })
  .readonly();
export type ObserverEffect = z.output<typeof observerEffectSchema>;

/** As JSON holds it. */
export function encodeEffect(effect: ObserverEffect): z.input<typeof observerEffectSchema> {
  return z.encode(observerEffectSchema, effect);
}
