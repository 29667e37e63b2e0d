/** What the metrics read: reduced, in memory, times as ns since the start of the run. */

import type { LeftWatch } from "../../label/capture/drawn-watches.ts";
import type { EarlyRows } from "../../label/kv/early-batches.ts";
import type { ReadSpan, RowWrites } from "../../label/kv/kv-token.ts";
import type { Regions } from "../../label/regions/region-map.ts";
import type { Residency } from "../../label/regions/residency.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import type { RegionType, Step, WatchDesign, WatchEnding, WatchMode } from "../../schema/words.ts";
import type { FaultSums } from "../process/fault-sums.ts";
import type { MemoryReadings } from "../process/load-memory-readings.ts";
import type { ProcessPoint, ProcessUse } from "../process/process-readings.ts";
import type { AddressSums } from "../stream/address-pass.ts";
import type { BinnedTimes } from "../stream/binned-times.ts";
import type { LateStretches } from "./late-stretches.ts";
import type { Span } from "./span.ts";

/** One watch and its traps in order of time; all times inside [begin_ns, end_ns]. */
export interface WatchSample {
  readonly watch_id: number;
  readonly pid: number;
  readonly addr: bigint;
  readonly size_bytes: number;
  readonly mode: WatchMode;
  readonly design: WatchDesign;
  readonly stratum: string;
  readonly region_type: RegionType;
  readonly mapping_kind: string | null;
  readonly tensor: string | null;
  /** Others may use the same bytes through another mapping. Never unless told. */
  readonly is_shared?: boolean;
  readonly stratum_bytes: number;
  readonly inclusion_probability: number;
  readonly draw_weight: number;
  readonly begin_ns: number;
  readonly end_ns: number;
  readonly ended_by: WatchEnding;
  readonly trap_limit: number;
  /** The time that it was given when it was armed, whatever it saw. */
  readonly dwell_limit_ns: number;
  readonly hit_ns: Float64Array;
  /** Values of OP (schema/operation.ts). */
  readonly hit_op: Uint8Array;
  /** When the region died, if it did inside the run. */
  readonly region_death_ns: number | null;
  /** What the region died of was a move: its bytes went on at another address. Never unless told. */
  readonly is_moved?: boolean;
  /** When the region (logical tensor where there is one) was born. */
  readonly region_birth_ns: number;
}

/** Lifetimes of allocations in bins; arrays parallel, times in ns. */
export interface AllocationLives {
  /** Allocations in the bin, and the bytes that they asked for. */
  readonly n: Float64Array;
  readonly bytes: Float64Array;
  readonly middle_ns: Float64Array;
  /** The shortest and the longest that a time of the bin can have been. */
  readonly least_ns: Float64Array;
  readonly most_ns: Float64Array;
  /** 0 where the end was not seen: it lived at least so long. */
  readonly ended: Uint8Array;
}

/** All allocations of the run, or those of one function. */
export interface AllocationSample {
  /** `allocation`, or `allocation/FUNCTION`. */
  readonly mapping_kind: string;
  readonly is_part: boolean;
  readonly lives: AllocationLives;
  /** Processes that told their sums. */
  readonly processes: number;
  /** Over all processes; null where one did not tell. */
  readonly allocations: number | null;
  readonly allocated_bytes: number | null;
  /** The highest of the processes' peaks, and their sum; null where none told. */
  readonly highest_peak_bytes: number | null;
  readonly peaks_bytes: number | null;
  /** True where memray's records end before the program did, or may: what came later is in none of the sums. */
  readonly is_cut: boolean;
}

/** A decode call: a batch of prompt tokens (prefill) or of one token per sequence (decode). */
export interface StepSample {
  readonly step: Step;
  readonly begin_ns: number;
  readonly end_ns: number;
  /** Without guesses that did not stay. */
  readonly n_tokens: number;
  /** True where it had not returned at the end: which rows it wrote and needed is not known. */
  readonly is_cut?: true;
  /** True where a draft model guesses: such a batch is of the time between the steps for which it does, and has no tokens. */
  readonly is_guess?: true;
}

/** The KV rows of one token that share their life, by the engine's steps. */
export interface KvRowSample {
  /** Of a row whose write was not seen: begin of the first batch that was. */
  readonly write_ns: number;
  /** False for a row that was in the cache before the first batch that was seen. */
  readonly is_written: boolean;
  /** Begin of the last step that needed it; NaN for none. */
  readonly last_read_ns: number;
  /** NaN while alive. */
  readonly evict_ns: number;
  /** Later steps that needed it. */
  readonly total_reads: number;
  /** Their begins; spaced evenly from the write to the last need where they are not told. */
  readonly needs?: readonly ReadSpan[];
  /** Of all of them. */
  readonly size_bytes: number;
  /** Number of what its sequence wrote from one emptying to the next: such rows share their fate. */
  readonly filling: number;
  /** How often they were written while they were in the cache. */
  readonly writes: RowWrites;
  /** Rows of several fillings with one such name may be the same ones, counted for each sequence. */
  readonly may_share?: string;
  /** They are copies that the next step makes others of: half of what is read of them the step reads that wrote them. Never unless told. */
  readonly is_copy?: true;
}

/** Some of them, by their places: an array, or what reads them where they lie. Then a row is good until the next one is asked for. */
export interface KvRowSamples extends Iterable<KvRowSample> {
  readonly length: number;
  at(place: number): KvRowSample | undefined;
}

/** Bytes of the blocks of which distinct ones are counted: a line, a page, and two sizes of large pages. */
export const GRAINS = [64, 4096, 65_536, 2_097_152] as const;
/** The same without the line. */
export const PAGE_GRAINS = [4096, 65_536, 2_097_152] as const;

export interface SeenBlocks {
  readonly grain_bytes: number;
  readonly distinct: number;
  readonly once: number;
  readonly twice: number;
}

/** Runs of samples of stores, each closer than the pass gap to the one before. */
export interface StoreRuns {
  /** Blocks that have them; one counts anew in each life of its bytes. */
  readonly blocks: number;
  readonly runs: number;
  readonly samples: number;
  /** Runs of exactly one sample and of exactly two. */
  readonly runs_of_1: number;
  readonly runs_of_2: number;
}

/** Blocks on which samples of stores fell. */
export interface WrittenBlocks {
  readonly grain_bytes: number;
  /** In one run of samples. */
  readonly once: StoreRuns;
  /** In runs that cannot be one write epoch. */
  readonly rewritten: StoreRuns;
  /** In runs that may be one. */
  readonly open: StoreRuns;
}

/** Sums of sampled access rows (any source but watch), per class, step and block of time. */
export interface AccessSums {
  readonly region_type: RegionType;
  readonly mapping_kind: string | null;
  /** none: the whole of generation whatever the step, or of a run without steps. */
  readonly step: Step | "none";
  readonly source: string;
  /** False where nobody knows how many accesses a row stands for: rows are counted, and rates are not known. */
  readonly period_known: boolean;
  /** One entry per block: a token, or 100 ms and more where there are none; of an import, at most 64 of one length. Weighted by period. */
  readonly loads: Float64Array;
  readonly stores: Float64Array;
  /** Length of a block and begin of the first, ns since the start of the run; absent where a block is a token. */
  readonly block_ns?: number;
  readonly blocks_from_ns?: number;
  /** Rows, unweighted; and of them those in loads and in stores: one that is both is in both. */
  readonly rows: number;
  readonly load_rows: number;
  readonly store_rows: number;
  /** Of an import: those of which nobody knows whether they read or wrote, weighted by period, and their rows. */
  readonly unknown?: { readonly accesses: number; readonly rows: number };
  /** Distinct blocks of each grain in GRAINS, and how many were seen exactly once and exactly twice, for Chao1. */
  readonly seen: readonly SeenBlocks[];
  /** Of the step none, by grains from a page on; none for an import, whose addresses tell more. */
  readonly written: readonly WrittenBlocks[];
}

/** What samples fell on a single region, by source. */
export interface RegionSamples {
  /** Row of the region, from 0. */
  readonly row: number;
  /** Of the step none. */
  readonly sums: readonly AccessSums[];
}

/** The KV rows of cache tensors that keep the same tokens for the same time, in rows of one size. */
export interface RegionKv {
  /** Rows of their regions, from 0. */
  readonly rows: readonly number[];
  /** Rows of one of these tensors; null where they are too many to be told again for single tensors. */
  readonly kvRows: (() => KvRowSamples) | null;
}

export interface Sight {
  readonly collector: string;
  readonly identifies: readonly string[];
  readonly blind_to: string;
}

/** A class of a trace that holds every access. */
export interface AccessStream extends AddressSums {
  readonly region_type: RegionType;
  readonly mapping_kind: string | null;
  /** By block of time: pairs of successive accesses of one thread, and of them those on one 4 KiB page. */
  readonly pairs: Float64Array;
  readonly same_page: Float64Array;
  readonly strides: BinnedTimes;
  /** Lengths of runs of accesses of one thread, each at most 64 B beyond the one before. */
  readonly runs: BinnedTimes;
}

/** What was counted while the run went on, by span. */
export interface RunCounts {
  /** See `countedSpans`. */
  readonly spans: readonly Span[];
  /** The processes of the target, by position in `spans`; null where nobody read /proc. */
  readonly process: readonly ProcessUse[] | null;
  /** What memray read of the target; null where it read nothing, or /proc was read. */
  readonly memray: MemoryReadings | null;
  /** The target over time, in order of it. */
  readonly points: readonly ProcessPoint[];
  /** Null where no page fault was recorded. */
  readonly faults: FaultSums | null;
}

export interface AnalysisInput {
  readonly run_id: string;
  /** CLOCK_MONOTONIC at the start of the run. */
  readonly t0_ns: bigint;
  readonly window_ns: number;
  readonly watches: readonly WatchSample[];
  /** Watches of the run that are not among `watches`, as there is no memory for all of them; none where it is absent. */
  readonly left_watches?: readonly LeftWatch[];
  /** Stretches in which no watch was to begin, in order and ns since the start of the run; none where it is absent. */
  readonly passed_over?: readonly (readonly [begin_ns: number, end_ns: number])[];
  /** When the tracer did not come round to its watches; nobody noted it where it is absent. */
  readonly late?: LateStretches;
  /** Memory that came less than this before the arming of a watch cannot have been drawn; 0 where it is absent. */
  readonly draw_lag_ns?: number;
  readonly regions: Regions;
  /** How much of them was in memory; nobody looked where it is absent. */
  readonly residency?: Residency;
  readonly steps: readonly StepSample[];
  readonly kvRows: KvRowSamples;
  /** Why the engine's steps do not tell the lives of all KV rows; null where they do, or there is no engine. */
  readonly kvUntold: string | null;
  /** What is open of rows of batches that came before it was known what their context held; none where it is absent or null. */
  readonly kvEarly?: EarlyRows | null;
  /** Why they do not tell how often those are written; null where they do, as far as they tell their lives. */
  readonly kvWritesUntold: string | null;
  readonly accessSums: readonly AccessSums[];
  /** Of the regions that most samples fell on; none where it is absent. */
  readonly regionSamples?: readonly RegionSamples[];
  /** Of single cache tensors; none where it is absent, or where the steps do not tell the lives of rows. */
  readonly regionKv?: readonly RegionKv[];
  /** Kinds of accesses that PEBS sampled at the level without a shadow; none where it is absent. */
  readonly unshadowed?: readonly ("loads" | "stores")[];
  /** CPUs of the machine; absent or null where nobody knows. */
  readonly cpus?: number | null;
  /** The whole first, then its parts; none where nobody watched allocations. */
  readonly allocations: readonly AllocationSample[];
  /** Classes of which every access is known. */
  readonly streams: readonly AccessStream[];
  /** Null for what another tool recorded. */
  readonly counts: RunCounts | null;
  readonly ledger: readonly LedgerRow[];
  /** Calibrated cost of one trap: intervals below it are bounds. */
  readonly trap_cost_ns: number | null;
  readonly seed: number;
  /** What each collector can tell: sources of figures, and why no others. Empty where that is not known. */
  readonly sight: readonly Sight[];
}
