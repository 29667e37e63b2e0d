/** A labelled trace that was recorded elsewhere becomes a run directory: the trace in raw/, and what is known of it. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import { MrmTraceError } from "../errors.ts";
import { createRun, type MadeRun } from "../run-directory/create-run.ts";
import { type RunFacts, unknownFacts, writeFacts } from "../run-directory/facts.ts";
import { readRegularText } from "../run-directory/regular-file.ts";
import { modelSlug, newRunId, runPaths } from "../run-directory/run-directory.ts";
import type { Imported } from "../schema/run-details.ts";

const SIGHT = {
  collector: "import",
  identifies: ["import"],
  blind_to: "the trace has accesses alone: no mappings, no steps and no watches",
};
const FILE = "trace.parquet";

/** The trace file that a path names: itself, or trace.parquet in a folder that is no run of ours; null for neither. */
export function foreignTrace(path: string): string | null {
  if (!existsSync(path)) return null;
  if (!statSync(path).isDirectory()) return resolve(path);
  const inside = join(resolve(path), FILE);
  const { capture, metrics_parquet } = runPaths(path);
  // No other program writes metrics.parquet: a run of ours is one without its capture too.
  return existsSync(inside) && !existsSync(capture) && !existsSync(metrics_parquet) ? inside : null;
}

const MAGIC = "PAR1";

/** Looks before anything is made of it: a pipe would be waited for, and what is no Parquet file leaves nothing. @throws MrmTraceError usage or data_quality */
function requireParquet(trace: string): void {
  const hint = "give the folder of a run, or a labelled trace such as trace.parquet";
  if (!statSync(trace).isFile()) throw new MrmTraceError("usage", `${trace} is no folder and no regular file`, hint);
  const fd = openSync(trace, "r");
  try {
    const [first, last] = [Buffer.alloc(4), Buffer.alloc(4)];
    const { size } = fstatSync(fd);
    readSync(fd, first, 0, 4, 0);
    readSync(fd, last, 0, 4, Math.max(0, size - 4));
    const begins = first.toString("latin1") === MAGIC;
    if (size >= 12 && begins && last.toString("latin1") === MAGIC) return;
    const what = size === 0 ? "it is empty" : begins ? "its end is missing" : "it has another beginning";
    throw new MrmTraceError("data_quality", `${trace} is no Parquet file: ${what}`, hint);
  } finally {
    closeSync(fd);
  }
}

/** The model's name in metadata.json beside the trace, else the name of the folder of its runs. */
function modelOf(trace: string): string {
  const named = z.object({ model: z.object({ id: z.string() }) });
  try {
    const text = readRegularText(join(dirname(trace), "metadata.json"));
    return modelSlug(named.parse(JSON.parse(text)).model.id);
  } catch {
    // No metadata, or none that names the model: folders are RESULTS/MODEL/RUN/trace.parquet.
    return modelSlug(basename(dirname(dirname(trace))));
  }
}

export interface ImportOptions {
  readonly output: string;
  readonly run_id?: string | undefined;
  readonly force: boolean;
  readonly seed: number;
  readonly period: number | null;
}

/**
 * Makes `output/<model>/<run>/` with the trace in raw/, as a link where that is possible, and its facts.
 * @throws MrmTraceError usage, data_quality where it is no Parquet file, or environment, as createRun does
 */
export function importTrace(trace: string, options: ImportOptions): { run: MadeRun; facts: RunFacts } {
  const { output, force, seed, period } = options;
  requireParquet(trace);
  const run_id = options.run_id ?? newRunId();
  const run = createRun({ output, model_id: modelOf(trace), run_id, force });
  const { directory } = run;
  const imported: Imported = { file: `raw/${FILE}`, period, from: trace };
  const why = "recorded elsewhere: what it lost and cost is not known";
  const facts = {
    ...unknownFacts(run_id, directory.model_id, why, "import"),
    seed,
    sight: [SIGHT],
    details: { imported },
  };
  const kept = join(directory.heldPath, imported.file);
  mkdirSync(directory.raw, { recursive: true, mode: 0o700 });
  try {
    // Of a link the file is meant: the link itself would lead out of the run, or nowhere from there.
    linkSync(realpathSync(trace), kept);
  } catch {
    // Another file system, or not ours to link.
    try {
      copyFileSync(trace, kept);
    } catch (cause) {
      const text = cause instanceof Error ? cause.message : String(cause);
      throw new MrmTraceError("environment", `${trace} cannot be copied: ${text}`, "free space, or give --output DIR", {
        cause,
      });
    }
  }
  writeFacts(directory.heldPath, facts);
  return { run, facts };
}
