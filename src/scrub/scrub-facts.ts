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
import type { Dropped } from "./scrub-capture.ts";

export const MODEL_ID = "scrubbed";
/** Words of our own, as keys, causes and reasons of an end are. */
const OUR_WORD = /^[a-z][a-z_ ]{0,40}$/;
const KEY = /^[a-z][A-Za-z0-9_]{0,40}$/;
const SIGNAL = /^SIG[A-Z0-9+]{1,12}$/;
const LEFT_OUT = "what the recording says of it is left out of a run that is shared";
const COLLECTORS: ReadonlySet<string> = new Set(COLLECTOR_NAMES);
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
  return { ...experiment, name: MODEL_ID, about: {}, model: {} };
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
  const ours = (word: string): string => (OUR_WORD.test(word) ? word : "other");
  const collector = (name: string): string => (COLLECTORS.has(name) ? name : "other");
  const sources = (names: readonly string[]): string[] => names.filter((name) => SOURCES.has(name));
  const turns = details.watch?.budget?.turns;
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
    target: {
      ...target,
      command: [],
      pid: processes.renumbered(target.pid),
      pids: target.pids.map((pid) => processes.renumbered(pid)),
      signal: target.signal !== null && SIGNAL.test(target.signal) ? target.signal : null,
    },
    ledger: ledger.map((row) => ({
      ...row,
      way: null,
      pid: row.pid === null ? null : processes.renumbered(row.pid),
      dropped_by: Object.fromEntries(Object.entries(row.dropped_by).map(([cause, n]) => [ours(cause), n])),
    })),
    observer: { ...observer, parts: observer.parts.map((part) => ({ ...part, what: ours(part.what.toLowerCase()) })) },
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
      ...(details.thermal === undefined
        ? {}
        : {
            thermal: {
              ...(numbersBelow(details.thermal) as Record<string, unknown>),
              throttle_events: details.thermal.throttle_events,
              peak_temp_c: details.thermal.peak_temp_c,
            },
          }),
      ...(turns
        ? {
            watch: {
              ...(numbersBelow(details.watch) as Record<string, unknown>),
              budget: { turns: turns.map((turn) => ({ ...turn, begin_ns: later(turn.begin_ns) })) },
            },
          }
        : {}),
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
