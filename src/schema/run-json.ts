/** What `run` reports: the object that `--json` prints and that the table is drawn from. */

import { z } from "zod";
import { EXIT_CODES, type MrmTraceError } from "../errors.ts";
import { FIGURE_SOURCES, LEDGER_STREAMS, STAGE_NAMES } from "./ledger.ts";
import { engineFactsSchema, modelFactsSchema } from "./model-facts.ts";
import { wordsOf } from "./row.ts";
import { JSON_SCHEMA_VERSION } from "./versions.ts";
import { BYTES_ARE, type BytesAre } from "./words.ts";

/** A u64: bigint or whole number in memory, decimal string in JSON, where a double would lose digits. */
export const u64 = z.codec(
  z.string().regex(/^\d{1,20}$/),
  z.custom<number | bigint>((v) => (typeof v === "bigint" && v >= 0n) || (Number.isSafeInteger(v) && Number(v) >= 0)),
  { decode: (text) => BigInt(text), encode: (value) => value.toString() },
);

/** A figure: any number in memory, null in JSON where it is not finite. */
export const figure = z.codec(
  z.number().nullable(),
  z.custom<number | null>((v) => v === null || typeof v === "number"),
  { decode: (value) => value, encode: (value) => (value !== null && Number.isFinite(value) ? value : null) },
);

export const count = z.int().min(0);
const word = z.string();
const words = z.array(word).readonly();

export const VALIDITY_CLASSES = ["clean", "marginal", "contaminated"] as const;

const ledgerRow = z.object({
  stream: z.enum(LEDGER_STREAMS),
  /** The source whose figures the events feed; null where they feed all sources of the stream. */
  source: z.enum(FIGURE_SOURCES).nullable(),
  stage: z.enum(STAGE_NAMES),
  /** Which of several ways through the stage, for people. */
  way: word.nullable(),
  pid: count.nullable(),
  seen: u64,
  kept: u64,
  filtered: u64,
  dropped: u64,
  dropped_by: z.record(word, u64).readonly(),
  unseen_estimate: figure,
});

/** One row of `metrics`, the columns of the table of that name. */
const metricRow = z.object({
  metric: word,
  /** What the figure is of: a class of data, or the processes of the target as a whole. */
  scope: z.enum(wordsOf("metrics", "scope")),
  region_type: word,
  mapping_kind: word.nullable(),
  phase: word,
  step: word,
  grain_bytes: count.nullable(),
  source: word,
  unit: word,
  value: figure,
  lo: figure,
  hi: figure,
  ci_level: figure,
  n: u64,
  n_censored: u64,
  coverage: figure,
  window_ns: u64,
  method: word,
  label: word.nullable(),
  status: z.enum(wordsOf("metrics", "status")),
  why: word.nullable(),
  lost_pct: figure,
});

const engineCounts = z.object({
  /** Of prompts that were worked on. */
  prompt_tokens: count.nullable(),
  /** Of answers that ended in the recording; the first token of an answer, which its prompt gives, is one of them. */
  generated_tokens: count.nullable(),
  /** Those by the seconds in which the engine says that it generated them. */
  generated_tokens_per_s: figure,
  /** Requests under way at the begin and at the end: of those the engine counted all tokens, and of these none. */
  requests_under_way: count.nullable(),
  /** Why they are not known; null where they are. */
  why: word.nullable(),
});
export type EngineCounts = z.output<typeof engineCounts>;

/** Quantiles; one that those decide of which the end was not seen is null, and no less than its bound, which is missing otherwise. */
const share = z.object({
  p50: figure,
  p99: figure,
  p50_at_least: figure.optional(),
  p99_at_least: figure.optional(),
});
const requests = z.object({
  /**
   * Requests of our own client, and how many were answered to their end, which is null where the client is not ours; without
   * one those that the engine names.
   */
  requests: count.nullable(),
  answered: count.nullable(),
  /**
   * Rows of those that the engine names, where a request that asks for several answers, or searches by beams, has several: what follows is of
   * each row, the prompt too; missing where each has one, and in older files.
   */
  sequences: count.optional(),
  /**
   * Over the requests that tell it, as all that follows; in ms, null where none does. Those that were given up, cut or failed before any
   * token came waited for as long as that at least.
   */
  ttft_ms: share.nullable(),
  wait_ms: share.nullable(),
  /** Of each answer the median of its times between tokens, over the answers. */
  token_gap_ms: share.nullable(),
  /** Answers of which that is not known: several tokens came in an event, or some with none, and the server counted at the end alone; missing where there are none, and in older files. */
  bunched: count.optional(),
  /** Sums, as the server counts; null where it did not say it of every request that was answered. */
  prompt_tokens: u64.nullable(),
  reused_tokens: u64.nullable(),
  output_tokens: u64.nullable(),
  /** As our client received them; null where several came in an event of one of them, and nobody says how many in which. */
  streamed_tokens: u64.nullable(),
  /**
   * As the server itself tells it: all tokens of the answers, by the time in which it made those behind the first of each.
   * Null where it did not say it of every request that was answered; missing in older files, as the next two.
   */
  engine_tokens_per_s: figure.optional(),
  /** The same time, and the tokens that were made in it: the first of each answer comes out of its prompt. */
  engine_later_tokens_per_s: figure.optional(),
  /** Tokens behind the first of each answer, by the time from its first to its last, at our client. */
  streamed_tokens_per_s: figure.optional(),
  /** Bytes of KV rows that the sequence of a request held behind its last batch. */
  kv_bytes: share.nullable(),
  /** How long what a request wrote into the cache was needed, the longest of it, in ms; null where that is known of none, missing in older files. */
  retention_ms: share.nullable().optional(),
  /** Of these the ones of our client that have the engine's name; missing where it names none, and in older files, as the next. */
  joined: count.optional(),
  /** Requests beside these that the engine names: they are of other clients, or had no name in their answers. */
  others: count.optional(),
  /** Sequences that steps worked on and that have no name, beside the requests that the engine names; missing where all have one, and in older files. */
  unnamed: count.optional(),
  /** Of the requests that the engine names those that it did not say to have ended: their tokens and bytes are those up to the end of the recording; missing where there are none, and in older files. */
  under_way: count.optional(),
  /** Bytes of KV rows of reused_tokens, which were not computed; null where those of one are not known, missing in older files. */
  saved_bytes: u64.nullable().optional(),
  /** Why nothing is known, and what would make it known; null where the client is ours, or the engine names its requests. */
  why: word.nullable(),
});
export type RequestSummary = z.output<typeof requests>;

const target = z.object({
  command: words,
  pid: count,
  pids: z.array(count).readonly(),
  exit_code: z.int().nullable(),
  signal: word.nullable(),
  /**
   * How long the command ran in the recording: from the moment in which it was let go until its first process ended, or the
   * last of those that outlived it. Of a running process the length of the recording.
   */
  wall_s: figure,
  /** Most at once, by sample, summed over the processes. */
  threads: count.nullable(),
  /**
   * The mean number that ran or waited for a CPU, of those that work, while tokens were decoded, in the whole run where it has
   * none. Null where it is not known, and in older files.
   */
  busy_threads: figure.default(null),
  /** Null where it is not known: without an engine, and where records of the engine were lost. */
  prompt_tokens: count.nullable(),
  decode_tokens: count.nullable(),
  /** Tokens that were seen, where records of the engine were lost: there were at least so many. */
  prompt_tokens_at_least: count.nullable(),
  decode_tokens_at_least: count.nullable(),
  /** Decoded tokens of batches that had the prompts of others too; missing where there were none, and in older files. */
  decode_tokens_beside_prompts: count.optional(),
  /**
   * Per second of wall time while tokens are generated, as engines count, prompts of others in their batches included; null too
   * where records of the engine were lost, and in files before 2.1.
   */
  decode_tokens_per_s: figure,
  /** Of batches without a prompt, per second inside the engine's decode calls. */
  decode_call_tokens_per_s: figure,
  ttft_ms: figure,
  /** Tokens of the recording as the engine's own server counts them; missing where it was not asked. */
  engine_counts: engineCounts.optional(),
});

/** Before 2.1 the rate inside the decode calls had the name of the other one. */
export function withRatesRenamed(file: unknown): unknown {
  const old = z.looseObject({ target: z.looseObject({ decode_tokens_per_s: z.unknown() }) }).safeParse(file).data;
  if (old === undefined || "decode_call_tokens_per_s" in old.target) return file;
  const { decode_tokens_per_s } = old.target;
  return {
    ...old,
    target: { ...old.target, decode_tokens_per_s: null, decode_call_tokens_per_s: decode_tokens_per_s },
  };
}

const observer = z.object({
  cpu_pct: figure,
  /** Time that the target waited for CPUs which the tracer had, in % of the target's CPU time; null where not measured. */
  contention_pct: figure.default(null),
  rss_bytes: u64.nullable(),
  bpf_run_ns: u64.nullable(),
  traps: u64,
  trap_ns: u64,
  slowdown_pct: z.object({ value: figure, lo: figure, hi: figure, method: z.enum(["model", "paired"]) }),
  /** What the slowdown is made of, most first; `budgeted` where --budget bounds it, which waits when that is spent. */
  parts: z
    .array(z.object({ what: word, count, cost_pct: figure, budgeted: z.boolean() }))
    .readonly()
    .default([]),
  /** Peak RSS of the tracer against the target's peak RSS and against MemAvailable before the run. */
  rss_pct_of_target: figure,
  rss_pct_of_available: figure,
  baseline_cpu_pct: figure,
  /** How often decoding the instruction said what a pair of registers saw; null where nothing was watched. */
  decoder_agreement: z.object({ agreed: count, compared: count }).nullable(),
});

const moreTime = z.object({
  metric: word,
  region_type: word,
  mapping_kind: word.nullable(),
  phase: word,
  /** How far the interval reaches from the value, to its farther end, in percent of it. */
  half_width_pct: figure,
  /** What the figure covers now, and how much longer the run would have to be. */
  run_s: z.number(),
  more_s: count,
});

const ends = z.object({ value: figure, lo: figure, hi: figure });
const invariance = z.object({
  whole_pct: z.number(),
  reduced_pct: z.number(),
  turns: count,
  figures: z
    .array(
      z.object({
        metric: word,
        region_type: word,
        mapping_kind: word.nullable(),
        phase: word,
        unit: word,
        /** From the watches that began in turns of each budget. */
        whole: ends.extend({ n: count }),
        reduced: ends.extend({ n: count }),
        /** whole - reduced. */
        difference: ends,
        /** Whether the interval of the difference leaves out 0. */
        differs: z.boolean(),
        /** The line through both, at no budget. */
        unwatched: ends,
      }),
    )
    .readonly(),
  /** Headline figures that one of the two could not tell. */
  untold: count,
});

/** The object that `run --json` prints. */
export const runJsonSchema = z.object({
  schema_version: word,
  run_dir: word,
  run_id: word,
  model_id: word,
  /** Why the recording ended: `target_ended`, a limit, a signal, `disk`, `killed`, or `end_of_file` of what was imported. */
  stopped_by: word,
  validity: z.enum(VALIDITY_CLASSES),
  reasons: words,
  /** What the machine could not tell; it lowers no class. */
  not_measured: words,
  warnings: words,
  /** By the header of the model's file; missing where none was found. */
  model: modelFactsSchema.nullable().optional(),
  /** The engine that ran it, the first of several; missing where none was recognised. */
  engine: engineFactsSchema.nullable().optional(),
  collectors: z.array(z.object({ name: word, sources: words, why_not_better: word.nullable() })).readonly(),
  target,
  ledger: z.array(ledgerRow).readonly(),
  /** Share of the events of each source that did not reach a file, from the ledger. */
  loss: z.array(z.object({ source: z.enum(FIGURE_SOURCES), lost_pct: figure })).readonly(),
  observer,
  labels: z
    .array(
      z.object({
        region_type: word,
        mapping_kind: word.nullable(),
        /** Over the whole run, so that one that came and went counts. */
        regions: count,
        /** The most at one moment; `bytes_are` says of what. */
        bytes: u64,
        bytes_are: z.enum(Object.keys(BYTES_ARE) as [BytesAre, ...BytesAre[]]),
        /** The most at one moment of what was given its class by a guess; missing where nothing was. */
        guessed_bytes: u64.optional(),
        /** Rows of trace/: samples and trapped accesses, not how many accesses there were. */
        access_rows: u64,
      }),
    )
    .readonly(),
  metrics: z.array(metricRow).readonly(),
  /** What requests took; missing in older files, and null where no engine decoded. */
  requests: requests.nullable().optional(),
  /** The widest interval of a headline figure that a longer run would halve; null where none is wide, or time would not narrow it. */
  more_time: moreTime.nullable(),
  /** The headline figures by budget; null where --check-invariance was not given, or nothing was watched in enough turns. */
  invariance: invariance.nullable(),
});

/** How the warning of a run begins whose page could not be made. */
export const NO_PAGE = "report.html was not written";
/** The same where a disk that was full is why. */
export const NO_ROOM_FOR_PAGE = `${NO_PAGE}: the disk is full`;

/** The object that a failed command prints with `--json`. */
export const failureJsonSchema = z.object({
  schema_version: word,
  error: z.object({ code: word, message: word, hint: word, exit_code: z.int().min(1) }),
  run_dir: word.nullable(),
});

type DeepReadonly<T> = T extends (infer U)[]
  ? readonly DeepReadonly<U>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

export type Validity = (typeof VALIDITY_CLASSES)[number];
/** The report in memory: u64 values are numbers or bigints, figures may be NaN. */
export type RunReport = DeepReadonly<z.output<typeof runJsonSchema>>;
export type ReportMetric = RunReport["metrics"][number];
export type ReportLabel = RunReport["labels"][number];
/** The report as a program reads it: u64 values are decimal strings. */
export type RunJson = z.input<typeof runJsonSchema>;
export type FailureJson = z.infer<typeof failureJsonSchema>;

/** Any value as JSON text: bigint as decimal string, typed arrays as arrays, null for every number that is not finite. */
export function toJson(value: unknown, indent?: number): string {
  const plain = (_key: string, v: unknown): unknown => {
    if (typeof v === "bigint") return v.toString();
    return ArrayBuffer.isView(v) && !(v instanceof DataView) ? Array.from(v as unknown as ArrayLike<number>) : v;
  };
  return JSON.stringify(value === undefined ? null : value, plain, indent);
}

/** The report in the form that `--json` prints. @throws ZodError where a value has no JSON form, which is a bug */
export function encodeRun(report: RunReport): RunJson {
  return z.encode(runJsonSchema, report as z.output<typeof runJsonSchema>);
}

/** A failure in the form that `--json` prints. */
export function encodeFailure(error: MrmTraceError, runDir: string | null): FailureJson {
  const { code, message, hint } = error;
  return {
    schema_version: JSON_SCHEMA_VERSION,
    error: { code, message, hint, exit_code: EXIT_CODES[code] },
    run_dir: runDir,
  };
}
