/** Everything after capture: labels, metrics, and the files that programs and people read. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import type { RecordedFacts } from "../analyse/input/load.ts";
import type { AnalysisResult } from "../analyse/pipeline.ts";
import { buildName } from "../build.ts";
import { MrmTraceError } from "../errors.ts";
import type { DerivingLimits } from "../label/label-run.ts";
import { hostFacts } from "../overhead/host.ts";
import { metricsCsv } from "../report/csv.ts";
import { writeFileAtomic } from "../run-directory/atomic-file.ts";
import type { RunFacts } from "../run-directory/facts.ts";
import { shown } from "../run-directory/held-folder.ts";
import { writeManifest } from "../run-directory/manifest.ts";
import { type MetadataInput, metadataInMemory, runMetadata } from "../run-directory/metadata.ts";
import type { RunDirectory } from "../run-directory/run-directory.ts";
import { isFull } from "../run-directory/unwritable.ts";
import { type FigureSource, inNumbers } from "../schema/ledger.ts";
import { lossOf, unreadSources } from "../schema/loss.ts";
import type { Imported, RunDetails } from "../schema/run-details.ts";
import { NO_PAGE, NO_ROOM_FOR_PAGE, type RunReport, toJson } from "../schema/run-json.ts";

export interface Derived {
  readonly report: RunReport;
  readonly directory: RunDirectory;
}

/** Each way is loaded on use: neither waits for what only the other needs. */
async function analysisOf(
  path: string,
  imported: Imported | undefined,
  recorded: RecordedFacts,
  limits: DerivingLimits,
): Promise<AnalysisResult> {
  if (imported === undefined) return await (await import("../analyse/pipeline.ts")).analyseRun(path, recorded, limits);
  const { analyseImport } = await import("../analyse/import-pipeline.ts");
  return await analyseImport(path, join(path, imported.file), imported.period, recorded);
}

/**
 * Derives all files of a run directory from its capture folder, and returns the report.
 * @param limits of memory; its signal ends the deriving
 * @throws MrmTraceError as `analyseRun` does, and environment when a file cannot be written; what the signal carries
 */
export async function derive(directory: RunDirectory, facts: RunFacts, limits: DerivingLimits): Promise<Derived> {
  const { started_ns, started_at_utc, end_ns, seed, trap_cost_ns, details, sight, ...otherFacts } = facts;
  const ledger = inNumbers(facts.ledger);
  const budget_turns = details.watch?.budget?.turns ?? [];
  const draw_lag_ns = details.watch?.draw_lag_ns ?? 0;
  const late_polls = details.watch?.late;
  const is_cut = facts.stopped_by === "killed" || facts.stopped_by === "disk";
  const recorded = {
    run_id: facts.run_id,
    ledger,
    trap_cost_ns,
    seed,
    sight,
    budget_turns,
    draw_lag_ns,
    ...(late_polls === undefined ? {} : { late_polls }),
    is_cut,
    unshadowed: unshadowed(details),
    cpus: hostOf(details).cpus,
    model: details.model ?? null,
  };
  const analysis = await analysisOf(directory.heldPath, details.imported, recorded, limits);
  limits.signal?.throwIfAborted();
  const whole = analysis.input.ledger;
  const engines = analysis.engines.map(({ settings, ...facts }) => ({ ...settings, ...facts }));
  const report: RunReport = {
    ...otherFacts,
    ...judgedAgain(otherFacts, unreadSources(whole)),
    run_dir: directory.path,
    model: details.model ?? null,
    engine: engines[0] ?? null,
    ledger: whole.map((row) => ({ ...row })),
    loss: lossOf(whole),
    warnings: [
      ...otherFacts.warnings,
      ...analysis.warnings.map(shown),
      ...uncheckedInvariance(details, budget_turns.length, analysis),
    ],
    labels: analysis.labels,
    metrics: analysis.metrics,
    requests: analysis.requests,
    more_time: analysis.moreTime,
    invariance: analysis.invariance,
  };
  writeFileAtomic(directory.metrics_csv, metricsCsv(report));
  const input: MetadataInput = {
    report,
    host: hostOf(details),
    engines,
    started_at: started_at_utc === "" ? null : new Date(started_at_utc),
    started_ns,
    versions: { mrm_trace: packageJson.version, build: buildName(), bun: Bun.version },
    end_ns,
    seed,
    trap_cost_ns,
    allocation_sites: analysis.allocationSites,
    details: {
      ...details,
      label_counters: analysis.counters,
      fault_files: analysis.input.counts?.faults?.files ?? null,
    },
  };
  const { signal } = limits;
  // First what programs read: on a disk with little room the page may take the rest of it.
  writeMetadata(directory, input);
  const warned = await writePage(directory, report, input, signal);
  if (warned !== report) writeMetadata(directory, { ...input, report: warned });
  await writeManifest(directory.heldPath, facts.run_id);
  return { report: warned, directory };
}

function writeMetadata({ metadata }: RunDirectory, input: MetadataInput): void {
  writeFileAtomic(metadata, `${toJson(runMetadata(input), 2)}\n`);
}

/** Writes report.html. A run is worth no less without: where it cannot be made the report says so, as a warning. */
async function writePage(
  directory: RunDirectory,
  report: RunReport,
  input: MetadataInput,
  signal: AbortSignal | undefined,
): Promise<RunReport> {
  try {
    const { pageOf } = await import("../report/page/page.ts");
    const metadata = metadataInMemory(runMetadata(input));
    const page = await pageOf([{ report, metadata, heldPath: directory.heldPath }], signal);
    writeFileAtomic(directory.report_page, page);
    return report;
  } catch (error) {
    signal?.throwIfAborted();
    rmSync(directory.report_page, { force: true, recursive: true });
    const why = shown(error instanceof Error ? error.message : String(error));
    const isFullDisk = error instanceof MrmTraceError && isFull(error.cause);
    return { ...report, warnings: [...report.warnings, `${isFullDisk ? NO_ROOM_FOR_PAGE : NO_PAGE}: ${why}`] };
  }
}

/** The precise level at which PEBS has no shadow, by its documentation: PDIR, and PDist on newer CPUs. */
const NO_SHADOW = 3;

/** Kinds of accesses that were sampled at that level on every kind of CPU. */
function unshadowed({ samples }: RunDetails): RecordedFacts["unshadowed"] {
  const events = typeof samples === "object" ? (samples?.events ?? []) : [];
  return (["loads", "stores"] as const).filter((kind) => {
    const counting = events.filter(({ name }) => name === `all_${kind}`);
    return counting.length > 0 && counting.every(({ precise }) => precise === NO_SHADOW);
  });
}

/** Why a check of invariance that was asked for has no outcome. */
function uncheckedInvariance({ options }: RunDetails, turns: number, { invariance }: AnalysisResult): string[] {
  if (options?.check_invariance !== true || invariance !== null) return [];
  const why = turns === 0 ? "no words were drawn to be watched" : `${turns} turns of the budget are too few`;
  return [`--check-invariance: ${why}${turns === 0 ? "" : "; a run of 30 s has about 24"}`];
}

/** A run of which rows are missing is no longer what it was judged to be. */
function judgedAgain({ validity, reasons }: Pick<RunFacts, "validity" | "reasons">, unread: readonly FigureSource[]) {
  if (unread.length === 0) return { validity, reasons };
  const reason = `segments of capture/ cannot be read or are missing: no figures of ${unread.join(", ")}`;
  return { validity: "contaminated" as const, reasons: [...reasons, reason] };
}

/** The machine of a recording by another tool, which this one need not be. */
const UNKNOWN_HOST: MetadataInput["host"] = {
  machine_id: null,
  os: null,
  kernel: null,
  cpu_model: null,
  cpu_freq_scaling_max_mhz: null,
};

/** The machine of the recording; that of a run whose tracer was killed before it could say is this one. */
function hostOf(details: RunDetails): MetadataInput["host"] {
  const isForeign = details.imported !== undefined || details.imported_from !== undefined;
  return details.host ?? (isForeign ? UNKNOWN_HOST : { ...hostFacts() });
}
