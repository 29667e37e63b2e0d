/** A run as its directory tells it: for resuming, for predictions and for the summary of an experiment. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { MrmTraceError } from "../errors.ts";
import { readMetadata } from "../run-directory/metadata.ts";
import { readRegularText } from "../run-directory/regular-file.ts";
import { runPaths } from "../run-directory/run-directory.ts";
import type { ExperimentFacts } from "../schema/run-details.ts";
import type { Validity } from "../schema/run-json.ts";
import type { RunMetadata } from "../schema/run-metadata.ts";

const manifestSchema = z.object({
  created_at_utc: z.string(),
  files: z.array(z.object({ path: z.string(), size_bytes: z.number() })),
});

export interface RunRecord {
  readonly path: string;
  readonly run_id: string;
  readonly model_id: string;
  /** Runs of one machine can be compared. */
  readonly machine: string;
  readonly experiment: ExperimentFacts | null;
  readonly validity: Validity;
  readonly reasons: readonly string[];
  readonly stopped_by: string;
  readonly exit_code: number | null;
  /** Of the target. */
  readonly wall_s: number | null;
  /** From the start of the target to the manifest: with the analysis, without the look at the machine before. */
  readonly total_s: number;
  /** Of all files. */
  readonly bytes: number;
  readonly prompt_tokens: number | null;
  readonly decode_tokens: number | null;
  readonly decode_tokens_per_s: number | null;
  readonly ttft_ms: number | null;
  readonly slowdown_pct: number | null;
  readonly observer_cpu_pct: number | null;
}

function jsonFile(path: string): unknown {
  try {
    return JSON.parse(readRegularText(path));
  } catch {
    // Not there, or cut: the run is not complete.
    return null;
  }
}

/** Null where the run is not complete, or was written by another version. */
function metadataOf(path: string): RunMetadata | null {
  try {
    return readMetadata(path).metadata;
  } catch (error) {
    if (error instanceof MrmTraceError) return null;
    throw error;
  }
}

/** Machine as far as times are comparable. */
export function machineName(host: {
  readonly machine_id: string;
  readonly cpu_model: string | null;
  readonly cpus?: number | null | undefined;
}): string {
  return `${host.machine_id}/${host.cpu_model ?? "?"}/${host.cpus ?? "?"}`;
}

/**
 * The record of a sealed run: its manifest was written last, and the files that it lists have their sizes.
 * Null for everything else: no run, a cut one, files that were changed.
 */
export function readRunRecord(path: string): RunRecord | null {
  const paths = runPaths(path);
  const manifest = manifestSchema.safeParse(jsonFile(paths.manifest));
  if (!manifest.success) return null;
  const metadata = metadataOf(paths.metadata);
  // What another tool recorded has no machine, and is no run of an experiment.
  if (metadata === null || metadata.machine_id === null) return null;
  let bytes = 0;
  for (const file of manifest.data.files) {
    if (statSync(join(path, file.path), { throwIfNoEntry: false })?.size !== file.size_bytes) return null;
    bytes += file.size_bytes;
  }
  const { run_id, machine_id, hardware, validity, target, timing, observer, stopped_by } = metadata;
  const total_s = (Date.parse(manifest.data.created_at_utc) - Date.parse(timing.started_at_utc ?? "")) / 1e3;
  return {
    path,
    run_id,
    model_id: paths.model_id,
    machine: machineName({ machine_id, cpu_model: hardware.cpu_model, cpus: hardware.cpus }),
    experiment: metadata.experiment ?? null,
    validity: validity.class,
    reasons: validity.reasons,
    stopped_by,
    exit_code: target.exit_code,
    wall_s: target.wall_s,
    prompt_tokens: target.prompt_tokens,
    decode_tokens: target.decode_tokens,
    decode_tokens_per_s: target.decode_tokens_per_s,
    ttft_ms: target.ttft_ms,
    total_s: Number.isFinite(total_s) ? Math.max(0, total_s) : (target.wall_s ?? 0),
    bytes,
    slowdown_pct: observer.slowdown_pct.value,
    observer_cpu_pct: observer.cpu_pct,
  };
}

/** True where the target did all it had to do and everything was derived and sealed. */
export function isComplete(record: RunRecord | null): record is RunRecord {
  return record !== null && record.stopped_by === "target_ended" && record.exit_code === 0;
}

function foldersIn(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(path, entry.name));
}

/** Every sealed run below an output folder. */
export function recordsBelow(output: string): RunRecord[] {
  return foldersIn(output)
    .flatMap(foldersIn)
    .flatMap((path) => readRunRecord(path) ?? []);
}
