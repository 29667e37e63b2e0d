/** A run becomes one that can be shared: its capture scrubbed, and everything else derived from that alone. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { createRun, discardRun } from "../run-directory/create-run.ts";
import { readFacts, writeFacts } from "../run-directory/facts.ts";
import { shownError } from "../run-directory/held-folder.ts";
import { entriesBelow, MANIFEST } from "../run-directory/manifest.ts";
import { requireThere } from "../run-directory/named-path.ts";
import { holdRun, newRunId, runPaths } from "../run-directory/run-directory.ts";
import { isSegmentPath } from "../run-directory/segment-files.ts";
import type { LedgerRow } from "../schema/ledger.ts";
import type { ReportMetric } from "../schema/run-json.ts";
import { surveyRun, writeScrubbed } from "../scrub/scrub-capture.ts";
import { MODEL_ID, scrubbedFacts } from "../scrub/scrub-facts.ts";
import type { Derived } from "./derive.ts";
import { derivingLimits } from "./deriving-memory.ts";
import { heard } from "./heard.ts";
import { foreignTrace } from "./import-trace.ts";
import { savedReport } from "./saved-report.ts";

export interface ScrubRequest {
  readonly runDir: string;
  readonly out: string;
  readonly run_id: string | undefined;
  readonly force: boolean;
  /** Ends it, and then nothing is left. */
  readonly signal: AbortSignal;
  /** Told what is done, for people. */
  readonly say: (line: string) => void;
}

/** How the figures of the scrubbed run compare with those of the original. */
export interface FigureComparison {
  readonly figures: number;
  /** Figures, by metric and class, that are not the same; null where the original has none to compare with. */
  readonly different: readonly string[] | null;
}

export interface Scrubbed extends Derived {
  readonly comparison: FigureComparison;
}

/** What analysis writes anew, and what is no part of the run. */
const DERIVED =
  /^(?:capture\/facts\.json|trace\/part-\d+\.parquet|metadata\.json|report\.html|metrics\.(?:csv|parquet)|[a-z_]+\.parquet)$/;

async function otherFiles(runDir: string): Promise<number> {
  const { files, others } = await entriesBelow(runDir);
  const isOurs = (path: string): boolean => path === MANIFEST || isSegmentPath(path) || DERIVED.test(path);
  return files.filter((path) => !isOurs(path)).length + others.length;
}

const placeOf = ({
  metric,
  scope,
  region_type,
  mapping_kind,
  phase,
  step,
  grain_bytes,
  source,
}: ReportMetric): string =>
  [metric, scope, region_type, mapping_kind, phase, step, grain_bytes, source]
    .filter((part) => part !== null)
    .join(" ");

const figureOf = ({ value, lo, hi, n, status }: ReportMetric): string =>
  [value, lo, hi, n, status].map((part) => (part === null || Number.isNaN(part) ? "none" : part)).join(" ");

/** The figures of two reports, row by row. */
function compared(original: readonly ReportMetric[], scrubbed: readonly ReportMetric[]): FigureComparison {
  const before = new Map(original.map((row) => [placeOf(row), figureOf(row)]));
  const after = new Map(scrubbed.map((row) => [placeOf(row), figureOf(row)]));
  const places = new Set([...before.keys(), ...after.keys()]);
  return { figures: places.size, different: [...places].filter((place) => before.get(place) !== after.get(place)) };
}

function figuresOf(runDir: string): readonly ReportMetric[] | null {
  try {
    return savedReport(runDir).metrics;
  } catch (error) {
    // It was recorded only, or another version analysed it.
    if (error instanceof MrmTraceError) return null;
    throw error;
  }
}

const SHARE_FIGURES = "share its figures: mrm-trace show --json RUN_DIR";

/** @throws MrmTraceError usage where there is no recording to make a copy of */
function requireCapture(runDir: string): void {
  requireThere(runDir);
  const { capture } = runPaths(resolve(runDir));
  if (existsSync(capture)) return;
  if (foreignTrace(runDir) !== null) {
    const what = "the labelled trace of another program, which has no capture";
    const hint = `run: mrm-trace analyse ${runDir}, and share what mrm-trace show --json prints of it`;
    throw new MrmTraceError("usage", `${runDir} is ${what}`, hint);
  }
  const missing = `${runDir} has no capture folder, and a shared copy is made of that alone`;
  throw new MrmTraceError("usage", missing, `restore capture/ from a copy, or ${SHARE_FIGURES}`);
}

/** Rows for what cannot be read and of which the ledger does not say how much was written. */
function untold(unread: readonly LedgerRow[], ledger: readonly { readonly stage: string; readonly stream: string }[]) {
  return unread.filter(({ stream }) => !ledger.some((row) => row.stage === "segments" && row.stream === stream));
}

/**
 * Makes `out/scrubbed/<run_id>/` from the capture of a run, and compares its figures with those of the original.
 * @throws MrmTraceError usage where there is no such run or no recording in it, data_quality where none of it can be read, environment;
 *   what the signal carries
 */
export async function scrub({ runDir, out, run_id, force, say, signal }: ScrubRequest): Promise<Scrubbed> {
  requireCapture(runDir);
  const limits = derivingLimits(runDir);
  const source = runPaths(resolve(runDir));
  const facts = readFacts(source.path, source.run_id, source.model_id);
  if (facts.details.imported !== undefined) {
    const hint = "give the run from which it was made, or share its figures: mrm-trace show --json RUN_DIR";
    throw new MrmTraceError(
      "usage",
      `${runDir} holds the labelled trace of another program, which has no capture`,
      hint,
    );
  }
  using run = createRun({ output: out, model_id: MODEL_ID, run_id: run_id ?? newRunId(), force, option: "--out" });
  using _held = holdRun(run.heldPath);
  try {
    say(`looking through ${runDir}`);
    const surveyed = await surveyRun(source.path, () => heard(signal));
    if (surveyed.segments.length === 0) {
      const nothing = `nothing that was recorded in ${runDir} can be read, and a shared copy is made of that alone`;
      throw new MrmTraceError("data_quality", nothing, `restore capture/ from a copy, or ${SHARE_FIGURES}`);
    }
    const { processes } = surveyed.survey;
    for (const pid of [facts.target.pid, ...facts.target.pids]) processes.add(pid);
    const { time_ns } = surveyed.survey.zeros();
    const isEarlier = facts.started_ns > 0n && (time_ns === 0n || facts.started_ns < time_ns);
    const earliest_ns = isEarlier ? facts.started_ns : time_ns;
    // The earliest is 1: 0 stands for no time.
    const zero_ns = earliest_ns > 0n ? earliest_ns - 1n : 0n;
    const unread = await writeScrubbed(surveyed, run.directory.capture, zero_ns, () => heard(signal));
    const files = await otherFiles(source.path);
    const dropped = { ...surveyed.dropped, segments: unread.length, files };
    const { run_id: runId } = run.directory;
    const newFacts = scrubbedFacts(facts, { runId, zero_ns, processes, dropped });
    const ledger = [...newFacts.ledger, ...untold(unread, newFacts.ledger)];
    writeFacts(run.directory.heldPath, { ...newFacts, ledger });
    Bun.gc(true);
    say("deriving everything anew");
    const { derive } = await import("./derive.ts");
    const derived = await derive(run.directory, { ...newFacts, ledger }, { ...limits, signal });
    const before = figuresOf(source.path);
    const { metrics } = derived.report;
    const comparison = before === null ? { figures: metrics.length, different: null } : compared(before, metrics);
    return { ...derived, comparison };
  } catch (error) {
    discardRun(run);
    throw shownError(error);
  }
}
