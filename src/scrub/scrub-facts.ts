/** The facts of a run as they may be shared: numbers, and words of our own; of the machine what a figure depends on. */
import { z } from "zod";
import { COLLECTOR_NAMES, EBPF_PARTS, MEMRAY_OPTIONS, SOURCE_NAMES } from "../config/schema.ts";
import { isReason, isUnmeasured, THRESHOLDS } from "../overhead/validity.ts";
import type { RunFacts } from "../run-directory/facts.ts";
import { STREAMS } from "../schema/columns.ts";
import { FIGURE_SOURCES } from "../schema/ledger.ts";
import { VALIDITY_CLASSES } from "../schema/run-json.ts";
import { formatCounted } from "../units.ts";
import type { ProcessNumbers } from "./process-numbers.ts";
import { STORAGE_TYPES } from "./pseudonyms.ts";
import type { Dropped } from "./scrub-capture.ts";

export const MODEL_ID = "scrubbed";
/** Words of our own, as keys, causes and reasons of an end are. */
const OUR_WORD = /^[a-z][a-z_ ]{0,40}$/;
const KEY = /^[a-z][A-Za-z0-9_]{0,40}$/;
const SIGNAL = /^SIG[A-Z0-9+]{1,12}$/;
const LEFT_OUT = "what the recording says of it is left out of a run that is shared";
const COLLECTORS: ReadonlySet<string> = new Set([...COLLECTOR_NAMES, "client"]);
const SOURCES: ReadonlySet<string> = new Set(FIGURE_SOURCES);
const LISTED: ReadonlySet<string> = new Set([...COLLECTOR_NAMES, ...SOURCE_NAMES, ...EBPF_PARTS, ...MEMRAY_OPTIONS]);
/** Options that say how the run was watched; their values are numbers, true or false, or listed words. */
const OPTIONS = [
  "collector",
  "source",
  "ebpf",
  "clock_hz",
  "memray",
  "duration",
  "budget",
  "check_invariance",
  "seed",
  "max_size",
  "watch_registers",
  "baseline",
] as const;
/** Parts of the details in which numbers alone are kept, whatever a collector adds. */
const NUMERIC = ["baseline", "thermal", "watch", "clock", "samples", "process"] as const;
const DEPTH = 4;

/** Numbers, true and false below short keys; of lists none, as their elements have no names to go by. */
function numbersBelow(value: unknown, depth = DEPTH): unknown {
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value !== "object" || value === null || Array.isArray(value) || depth === 0) return null;
  const entries = Object.entries(value).filter(([key]) => KEY.test(key));
  return Object.fromEntries(entries.map(([key, one]) => [key, numbersBelow(one, depth - 1)]));
}

function optionsOf(options: Readonly<Record<string, unknown>> | undefined): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const key of OPTIONS) {
    const value = options?.[key];
    if (typeof value === "number" || typeof value === "boolean") kept[key] = value;
    else if (Array.isArray(value)) kept[key] = value.filter((word) => LISTED.has(String(word)));
  }
  return kept;
}

const hostWords = z.object({
  architecture: z.enum(["x64", "arm64"]).nullable().catch(null),
  cpu_vendor: z.enum(["GenuineIntel", "AuthenticAMD"]).nullable().catch(null),
  cpus: z.number().nullish().catch(null),
  numa_nodes: z.number().nullish().catch(null),
  transparent_hugepage: z.enum(["always", "madvise", "never"]).nullable().catch(null),
  /** The first two numbers of the release. */
  kernel: z
    .string()
    .transform((release) => /^\d{1,2}\.\d{1,3}/.exec(release)?.[0] ?? null)
    .nullable()
    .catch(null),
});

/** What figures depend on, of machines of which there are many. */
function hostOf(host: RunFacts["details"]["host"]) {
  const nobody = { machine_id: null, os: null, cpu_model: null, cpu_freq_scaling_max_mhz: null };
  return { ...hostWords.parse(host ?? {}), ...nobody };
}

function experimentOf(experiment: RunFacts["details"]["experiment"]) {
  if (experiment === null || experiment === undefined) return null;
  const { context_length, batch_size, output_tokens, prompt_tokens, prompts, rep_index, is_warmup } = experiment;
  const sizes = { context_length, batch_size, output_tokens, prompt_tokens, prompts };
  return { ...sizes, rep_index, is_warmup, name: MODEL_ID, about: {}, model: {} };
}

/** Sizes of the model, on which figures depend; what is called by a name is not. */
function modelOf(model: RunFacts["details"]["model"]) {
  if (model === null || model === undefined) return null;
  const { parameters, quantisation, bytes_by_type, file_bytes, layers, heads, kv_heads, ...rest } = model;
  const { embedding, feed_forward, vocabulary, experts, experts_used, context_tokens } = rest;
  const ofTypes = Object.entries(bytes_by_type).filter(([type]) => STORAGE_TYPES.has(type));
  const types = {
    quantisation: quantisation !== null && STORAGE_TYPES.has(quantisation) ? quantisation : null,
    bytes_by_type: Object.fromEntries(ofTypes),
  };
  const sizes = { parameters, file_bytes, layers, heads, kv_heads, embedding, feed_forward, vocabulary };
  return { name: null, architecture: null, ...types, ...sizes, experts, experts_used, context_tokens };
}

/** Tokens as the engine counted them; why it did not may name its address. */
function countsOf(counts: NonNullable<RunFacts["target"]["engine_counts"]>) {
  const { prompt_tokens, generated_tokens, generated_tokens_per_s, requests_under_way, why } = counts;
  const numbers = { prompt_tokens, generated_tokens, generated_tokens_per_s, requests_under_way };
  return { ...numbers, why: why === null ? null : LEFT_OUT };
}

/** What watching told: numbers, and the times on which figures depend. @param later a time as the scrubbed run counts it */
function watchOf(watch: NonNullable<RunFacts["details"]["watch"]>, later: (time_ns: bigint) => bigint) {
  const turns = watch.budget?.turns;
  const { late } = watch;
  const stretches = late?.stretches.map(({ begin_ns, end_ns }) => ({
    begin_ns: later(begin_ns),
    end_ns: later(end_ns),
  }));
  return {
    ...(numbersBelow(watch) as Record<string, unknown>),
    ...(turns ? { budget: { turns: turns.map((turn) => ({ ...turn, begin_ns: later(turn.begin_ns) })) } } : {}),
    ...(late && stretches ? { late: { ...late, stretches } } : {}),
  };
}

/** A word as ours are written, else `other`. */
function ours(word: string): string {
  return OUR_WORD.test(word) ? word : "other";
}

/** Counts by cause, those of causes that are no words of ours as one. */
function causesOf(dropped_by: RunFacts["ledger"][number]["dropped_by"]): Record<string, number | bigint> {
  const sums = new Map<string, bigint>();
  for (const [cause, count] of Object.entries(dropped_by)) {
    sums.set(ours(cause), (sums.get(ours(cause)) ?? 0n) + BigInt(count));
  }
  return Object.fromEntries(sums);
}

export interface NewFacts {
  readonly runId: string;
  /** Time from which the run counts. */
  readonly zero_ns: bigint;
  readonly processes: ProcessNumbers;
  readonly dropped: Dropped;
}

/** Facts of the scrubbed run; what is not named here is not in them. */
export function scrubbedFacts(facts: RunFacts, { runId, zero_ns, processes, dropped }: NewFacts): RunFacts {
  const { details, target, observer, ledger } = facts;
  const later = (time_ns: bigint): bigint => (time_ns > zero_ns ? time_ns - zero_ns : 0n);
  const collector = (name: string): string => (COLLECTORS.has(name) ? name : "other");
  const sources = (names: readonly string[]): string[] => names.filter((name) => SOURCES.has(name));
  const checks = z.array(
    z.object({
      check: z.enum(Object.keys(THRESHOLDS)),
      value: z.number().nullable(),
      result: z.enum([...VALIDITY_CLASSES, "not_measured"]),
    }),
  );
  const rows = z.record(z.string(), z.number()).safeParse(details.rows).data ?? {};
  const warned = facts.warnings.length;
  return {
    schema_version: facts.schema_version,
    run_id: runId,
    model_id: MODEL_ID,
    stopped_by: ours(facts.stopped_by),
    validity: facts.validity,
    reasons: facts.reasons.map((text) =>
      isReason(text) ? text : `a reason that names more than numbers: ${LEFT_OUT}`,
    ),
    not_measured: facts.not_measured.filter(isUnmeasured),
    warnings: [
      "scrubbed to be shared: names are keyed hashes, times count from 0, addresses are moved; see scrubbed in metadata.json",
      ...(warned === 0 ? [] : [`${formatCounted(warned, "warning")} of the recording left out: they may name files`]),
    ],
    collectors: facts.collectors.map(({ name, sources: fed }) => ({
      name: collector(name),
      sources: sources(fed),
      why_not_better: null,
    })),
    sight: facts.sight.map(({ collector: name, identifies }) => ({
      collector: collector(name),
      identifies: sources(identifies),
      blind_to: LEFT_OUT,
    })),
    // Each by its name: what a recording comes to tell beside it is not in a run that is shared until somebody says so.
    target: {
      command: [],
      pid: processes.renumbered(target.pid),
      pids: target.pids.map((pid) => processes.renumbered(pid)),
      exit_code: target.exit_code,
      signal: target.signal !== null && SIGNAL.test(target.signal) ? target.signal : null,
      wall_s: target.wall_s,
      threads: target.threads,
      busy_threads: target.busy_threads,
      prompt_tokens: target.prompt_tokens,
      decode_tokens: target.decode_tokens,
      prompt_tokens_at_least: target.prompt_tokens_at_least,
      decode_tokens_at_least: target.decode_tokens_at_least,
      ...(target.decode_tokens_beside_prompts === undefined
        ? {}
        : { decode_tokens_beside_prompts: target.decode_tokens_beside_prompts }),
      decode_tokens_per_s: target.decode_tokens_per_s,
      decode_call_tokens_per_s: target.decode_call_tokens_per_s,
      ttft_ms: target.ttft_ms,
      ...(target.engine_counts === undefined ? {} : { engine_counts: countsOf(target.engine_counts) }),
    },
    ledger: ledger.map((row) => ({
      stream: row.stream,
      source: row.source,
      stage: row.stage,
      way: null,
      pid: row.pid === null ? null : processes.renumbered(row.pid),
      seen: row.seen,
      kept: row.kept,
      filtered: row.filtered,
      dropped: row.dropped,
      dropped_by: causesOf(row.dropped_by),
      unseen_estimate: row.unseen_estimate,
    })),
    observer: {
      cpu_pct: observer.cpu_pct,
      contention_pct: observer.contention_pct,
      rss_bytes: observer.rss_bytes,
      bpf_run_ns: observer.bpf_run_ns,
      traps: observer.traps,
      trap_ns: observer.trap_ns,
      slowdown_pct: observer.slowdown_pct,
      parts: observer.parts.map(({ what, count, cost_pct, budgeted }) => ({
        what: ours(what.toLowerCase()),
        count,
        cost_pct,
        budgeted,
      })),
      rss_pct_of_target: observer.rss_pct_of_target,
      rss_pct_of_available: observer.rss_pct_of_available,
      baseline_cpu_pct: observer.baseline_cpu_pct,
      decoder_agreement: observer.decoder_agreement,
    },
    started_ns: later(facts.started_ns),
    started_at_utc: "",
    end_ns: later(facts.end_ns),
    seed: facts.seed,
    trap_cost_ns: facts.trap_cost_ns,
    details: {
      ...Object.fromEntries(NUMERIC.filter((key) => details[key]).map((key) => [key, numbersBelow(details[key])])),
      host: hostOf(details.host),
      options: optionsOf(details.options),
      experiment: experimentOf(details.experiment),
      model: modelOf(details.model),
      ...(details.thermal === undefined
        ? {}
        : {
            thermal: {
              ...(numbersBelow(details.thermal) as Record<string, unknown>),
              throttle_events: details.thermal.throttle_events,
              peak_temp_c: details.thermal.peak_temp_c,
            },
          }),
      ...(details.watch ? { watch: watchOf(details.watch, later) } : {}),
      ...(details.imported_from === undefined ? {} : { imported_from: MODEL_ID }),
      ...(typeof details.attached === "boolean" ? { attached: details.attached } : {}),
      validity_checks: checks.safeParse(details.validity_checks).data ?? null,
      rows: Object.fromEntries(
        STREAMS.flatMap((stream) => (rows[stream] === undefined ? [] : [[stream, rows[stream]]])),
      ),
      scrubbed: {
        names: "keyed hashes, the key not kept; words that every run has are as they were",
        addresses: "moved by regions of 2 MiB and more, in their order",
        times: "from 1 ns, the earliest of the run",
        processes: "numbered from 1",
        dropped,
      },
    },
  };
}
