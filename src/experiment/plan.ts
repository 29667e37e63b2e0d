/** What an experiment would run, what of it is there already, and what the rest will take. */
import { existsSync, statfsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { hostFacts } from "../overhead/host.ts";
import { type Prediction, predict } from "./predict.ts";
import { isComplete, machineName, type RunRecord, readRunRecord, recordsBelow } from "./run-record.ts";
import { type Experiment, type PlannedRun, plannedRuns } from "./sweep.ts";

/** `incomplete`: a run of that id was cut, stopped or failed. */
export type RunState = "absent" | "complete" | "incomplete";

export interface PlanEntry {
  readonly planned: PlannedRun;
  readonly run_dir: string;
  readonly state: RunState;
  /** Of the complete run. */
  readonly record: RunRecord | null;
  /** Null where no earlier run of the model on this machine tells. */
  readonly prediction: Prediction | null;
}

export interface PlanTotals {
  readonly runs: number;
  readonly warmups: number;
  readonly complete: number;
  /** Of the runs that are not complete; null where any of them is unknown. */
  readonly time_s: number | null;
  readonly disk_bytes: number | null;
  /** Of the runs whose size is known, so that a lack of room shows early. */
  readonly known_disk_bytes: number;
  /** In the output folder's file system. */
  readonly free_bytes: number;
}

export interface Plan {
  readonly experiment: Experiment;
  readonly entries: readonly PlanEntry[];
  readonly totals: PlanTotals;
}

/** Bytes free where a folder is, or will be. */
export function freeBytes(folder: string): number {
  let place = resolve(folder);
  while (!existsSync(place)) place = dirname(place);
  const { bavail, bsize } = statfsSync(place);
  return bavail * bsize;
}

/** Complete runs of this machine below a folder. */
export function earlierRuns(output: string): RunRecord[] {
  const machine = machineName(hostFacts());
  return recordsBelow(output).filter((record) => isComplete(record) && record.machine === machine);
}

function sumKnown(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>((sum, value) => (sum === null || value === null ? null : sum + value), 0);
}

/** @throws as plannedRuns does */
export function planOf(experiment: Experiment): Plan {
  const { output, baseline } = experiment.run;
  const earlier = earlierRuns(output);
  const entries = [...plannedRuns(experiment)].map((planned): PlanEntry => {
    const run_dir = join(output, planned.model_id, planned.run_id);
    const found = existsSync(run_dir) ? readRunRecord(run_dir) : null;
    const record = isComplete(found) ? found : null;
    const state = record !== null ? "complete" : existsSync(run_dir) ? "incomplete" : "absent";
    return { planned, run_dir, state, record, prediction: predict(planned, earlier) };
  });
  const open = entries.filter(({ state }) => state !== "complete");
  const totals: PlanTotals = {
    runs: entries.length,
    warmups: entries.filter(({ planned }) => planned.is_warmup).length,
    complete: entries.length - open.length,
    time_s: sumKnown(open.map(({ prediction }) => (prediction === null ? null : prediction.time_s + baseline / 1e9))),
    disk_bytes: sumKnown(open.map(({ prediction }) => prediction?.disk_bytes ?? null)),
    known_disk_bytes: open.reduce((sum, { prediction }) => sum + (prediction?.disk_bytes ?? 0), 0),
    free_bytes: freeBytes(output),
  };
  return { experiment, entries, totals };
}
