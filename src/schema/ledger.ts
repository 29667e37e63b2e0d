/** The loss ledger: nothing is lost in silence. */

import { STREAMS, type StreamName } from "./columns.ts";
import { wordsOf } from "./row.ts";

const SOURCES = wordsOf("access", "source");

/**
 * Stages of an event, in their order, with what a row of each counts. An event passes each at most once; what a stage
 * kept, the next has seen.
 */
export const STAGES = {
  attach:
    "what was to be observed (a probe, a process that was there before) and was taken hold of; these are no events",
  observe: "events as they happen: runs of our programs, samples of the PMU, files of /proc",
  ring: "from where they happened to the tracer",
  decode: "the tracer makes rows of them, with the names and addresses that belong to them",
  segments: "rows are written to the files of capture/",
  read: "rows are read back from there; there is such a row only where some could not be",
} as const satisfies Record<string, string>;

export type Stage = keyof typeof STAGES;

export const STAGE_NAMES = Object.keys(STAGES) as readonly Stage[];

/** What figures are told by: the sources of accesses, then the streams that are not accesses. */
export const FIGURE_SOURCES = [
  ...SOURCES,
  "step",
  "region_map",
  "allocation",
  "fault",
  "process",
  "request",
  "residency",
] as const;

export type FigureSource = (typeof FIGURE_SOURCES)[number];

/** A stream of capture/, or `engine`: what the engine's probes saw, before it is known to be a tensor or a step. */
export type LedgerStream = StreamName | "engine";

export const LEDGER_STREAMS = [...STREAMS, "engine"] as const satisfies readonly LedgerStream[];

/** The sources whose figures are made of a stream. */
export const SOURCES_OF: Readonly<Record<LedgerStream, readonly FigureSource[]>> = {
  mapping: ["region_map"],
  fault: ["fault"],
  tensor: ["region_map"],
  step: ["step"],
  engine: ["region_map", "step"],
  access: SOURCES,
  request: ["request"],
  watch: ["watch"],
  process: ["process"],
  residency: ["residency"],
  allocation: ["allocation"],
  allocation_stack: ["allocation"],
  allocation_memory: ["allocation"],
  allocation_site: ["allocation"],
  allocation_total: ["allocation"],
};

/** Which events a row of the ledger is about. */
export interface LedgerPlace {
  readonly stream: LedgerStream;
  /** The source whose figures the events feed; null where they feed all sources of the stream (`SOURCES_OF`). */
  readonly source: FigureSource | null;
  readonly stage: Stage;
  /** Which of several ways through the stage, for people: a program, a ring; null where there is one. */
  readonly way: string | null;
}

/** What became of the events of one stream at one stage; `seen = kept + filtered + dropped` holds in every row. */
export interface LedgerRow extends LedgerPlace {
  readonly pid: number | null;
  readonly seen: number;
  readonly kept: number;
  readonly filtered: number;
  readonly dropped: number;
  /** `dropped` by cause. */
  readonly dropped_by: Readonly<Record<string, number>>;
  /** Events that no counter could see, estimated; null where there is no estimate. */
  readonly unseen_estimate: number | null;
}

/** A row as JSON gives it: counts may be bigint. */
export type RecordedRow = LedgerPlace & {
  readonly pid: number | null;
  readonly dropped_by: Readonly<Record<string, number | bigint>>;
  readonly unseen_estimate: number | null;
} & Readonly<Record<"seen" | "kept" | "filtered" | "dropped", number | bigint>>;

/** True when the identity of the row holds and its causes add up. */
export function balances(row: LedgerRow): boolean {
  const causes = Object.values(row.dropped_by).reduce((sum, n) => sum + n, 0);
  return row.seen === row.kept + row.filtered + row.dropped && causes === row.dropped;
}

/** The row of a recording that goes on, without the events that are still under way: what becomes of them is not known. */
export function settled(row: LedgerRow): LedgerRow {
  return { ...row, seen: row.kept + row.filtered + row.dropped };
}

/** The row of a stream whose rows are all on their way to files, as it will be when they are there. */
export function inFiles(row: LedgerRow): LedgerRow {
  return { ...row, kept: row.seen - row.filtered - row.dropped };
}

/** Which events a row is about, in words: `access by watch, ring`, `mapping, decode (names)`. */
export function placeWords({ stream, source, stage, way }: LedgerPlace): string {
  const by = source === null || SOURCES_OF[stream].length === 1 ? "" : ` by ${source}`;
  return `${stream}${by}, ${stage}${way === null || way === stream ? "" : ` (${way.replaceAll("_", " ")})`}`;
}

/** Rows read from JSON, with their counts as numbers. */
export function inNumbers(rows: readonly RecordedRow[]): LedgerRow[] {
  return rows.map((row) => ({
    ...row,
    seen: Number(row.seen),
    kept: Number(row.kept),
    filtered: Number(row.filtered),
    dropped: Number(row.dropped),
    dropped_by: Object.fromEntries(Object.entries(row.dropped_by).map(([cause, n]) => [cause, Number(n)])),
  }));
}
