/** A labelled run as the input of the metrics. */
import type { Labelled } from "../../label/label-run.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import type { ModelFacts } from "../../schema/model-facts.ts";
import type { LatePolls } from "../../schema/run-details.ts";
import { loadAllocations } from "../process/load-allocations.ts";
import { clearsTold } from "../steps/cache-clears.ts";
import { passGapNs } from "../watched/passes.ts";
import type { AnalysisInput } from "./input.ts";
import { kvRowSamples } from "./kv-samples.ts";
import { lateSince } from "./late-stretches.ts";
import { loadAccessSums, loadRegionSamples, type SumsInput } from "./load-access-sums.ts";
import { loadCounts } from "./load-counts.ts";
import { kvWritesUntold, stepSamples, watchSamples } from "./load-samples.ts";
import { regionKv } from "./region-kv.ts";

/** What the recording knew beside its streams. */
export interface RecordedFacts {
  readonly run_id: string;
  readonly ledger: readonly LedgerRow[];
  /** Calibrated cost of one trap; null where none was calibrated. */
  readonly trap_cost_ns: number | null;
  readonly seed: number;
  readonly sight: AnalysisInput["sight"];
  /** Which budget watches had from when on, CLOCK_MONOTONIC; absent where it was one all the time. */
  readonly budget_turns?: readonly { readonly begin_ns: bigint; readonly budget_pct: number }[];
  /** Kinds of accesses that PEBS sampled at the level without a shadow; none where it is absent. */
  readonly unshadowed?: AnalysisInput["unshadowed"];
  /** CPUs of the machine; absent or null where nobody knows. */
  readonly cpus?: number | null;
  /** The model that computed, by the header of its file; absent or null where none was read. */
  readonly model?: ModelFacts | null;
  /** How long before its arming, on average, a watch was drawn by what was known then; 0 where it is absent. */
  readonly draw_lag_ns?: number;
  /** When the tracer did not come round to its watches; absent where nobody noted it. */
  readonly late_polls?: LatePolls;
  /** True where the files end with a closing, and what was open then is in none: a tracer that was killed, a full disk. */
  readonly is_cut?: boolean;
}

/** Reduces a labelled run. @param memoryBytes for blocks that samples fell on, while they are counted */
export async function loadInput(labelled: Labelled, facts: RecordedFacts, memoryBytes: number): Promise<AnalysisInput> {
  const steps = stepSamples(labelled.steps, labelled.window_ns);
  const kvRows = kvRowSamples(labelled.kvRows);
  const sampled: SumsInput = {
    traceParts: labelled.trace.parts,
    regions: labelled.regions,
    steps,
    originNs: labelled.origin_ns,
    windowNs: labelled.window_ns,
    clears: clearsTold(kvRows, labelled.kvRows),
    gapNs: passGapNs(facts.trap_cost_ns),
    memoryBytes,
  };
  const accessSums = await loadAccessSums(sampled);
  const { late_polls } = facts;
  const { left: leftWatches } = labelled.leftWatches;
  return {
    run_id: facts.run_id,
    t0_ns: labelled.origin_ns,
    window_ns: labelled.window_ns,
    watches: watchSamples(labelled.watches, labelled.regions, labelled.regionIndex),
    ...(leftWatches.length > 0 ? { left_watches: leftWatches } : {}),
    regions: labelled.regions,
    residency: labelled.residency,
    steps,
    kvRows,
    kvUntold: labelled.kvRows.untold,
    kvEarly: labelled.kvRows.early,
    kvWritesUntold: kvWritesUntold(labelled.kvRows),
    accessSums,
    regionSamples: accessSums.length === 0 ? [] : await loadRegionSamples(sampled, labelled.trace.accesses.rowsOf),
    regionKv: regionKv(labelled.kvRows, labelled.regions, labelled.regionIndex),
    allocations: await loadAllocations(labelled.capture, facts.ledger),
    streams: [],
    counts: await loadCounts(labelled, steps),
    ledger: facts.ledger,
    trap_cost_ns: facts.trap_cost_ns,
    draw_lag_ns: facts.draw_lag_ns ?? 0,
    ...(late_polls === undefined ? {} : { late: lateSince(late_polls, labelled.origin_ns) }),
    unshadowed: facts.unshadowed ?? [],
    cpus: facts.cpus ?? null,
    seed: facts.seed,
    sight: facts.sight,
  };
}
