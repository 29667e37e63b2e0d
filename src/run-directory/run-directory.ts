/** The run directory: its name, its place, and the paths in it. */
import { randomBytes } from "node:crypto";
import { basename, join, resolve } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { lockFolder } from "./folder-lock.ts";
import { recordedCommand } from "./recorded-command.ts";

export interface RunDirectory {
  /** As the user would type it: to be told. */
  readonly path: string;
  /** Where its files are: `path`, or while it is made and written a path that nobody can turn elsewhere. */
  readonly heldPath: string;
  readonly run_id: string;
  readonly model_id: string;
  readonly capture: string;
  readonly trace: string;
  readonly raw: string;
  readonly region_map: string;
  readonly kv_block_lifecycle: string;
  readonly request_figures: string;
  readonly sequence_figures: string;
  readonly metrics_csv: string;
  readonly metrics_parquet: string;
  readonly metadata: string;
  readonly report_page: string;
  readonly prompt_outputs: string;
  readonly manifest: string;
}

const MAX_NAME = 80;

/** A name as a folder: lower case, runs of other characters than letters, digits, `.` and `_` as one dash; `unknown` for nothing. */
export function modelSlug(name: string): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9._]+/g, "-")
    .replace(/^[-._]+/, "")
    .slice(0, MAX_NAME)
    .replace(/[-._]+$/, "");
  return slug || "unknown";
}

/** Slug of the model's own name (general.name of its GGUF), else of the command's base name, which may be a title with options. */
export function modelId(modelName: string | null, command: readonly string[]): string {
  const [program = ""] = recordedCommand(command.slice(0, 1), "masked");
  return modelSlug(modelName?.trim() || basename(program));
}

/** `YYYYmmddTHHMMSSZ-<4 hex>` in UTC. */
export function newRunId(now: Date = new Date()): string {
  const stamp = now.toISOString().replace(/[-:]|\.\d+/g, "");
  return `${stamp}-${randomBytes(2).toString("hex")}`;
}

/** @throws MrmTraceError usage, where an id is no name of a folder */
export function checkId(what: string, id: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id) && id.length <= MAX_NAME) return;
  throw new MrmTraceError(
    "usage",
    `${what} of letters, digits, ".", "_" and "-" expected, but received "${id}"`,
    `give one such as ${newRunId()}, at most ${MAX_NAME} characters long`,
  );
}

/** The paths of a run directory, below `heldPath`; makes nothing. */
export function runPaths(path: string, heldPath: string = path): RunDirectory {
  const run_id = basename(path);
  const model_id = basename(resolve(path, ".."));
  return {
    path,
    heldPath,
    run_id,
    model_id,
    capture: join(heldPath, "capture"),
    trace: join(heldPath, "trace"),
    raw: join(heldPath, "raw"),
    region_map: join(heldPath, "region_map.parquet"),
    kv_block_lifecycle: join(heldPath, "kv_block_lifecycle.parquet"),
    request_figures: join(heldPath, "request_figures.parquet"),
    sequence_figures: join(heldPath, "sequence_figures.parquet"),
    metrics_csv: join(heldPath, "metrics.csv"),
    metrics_parquet: join(heldPath, "metrics.parquet"),
    metadata: join(heldPath, "metadata.json"),
    report_page: join(heldPath, "report.html"),
    prompt_outputs: join(heldPath, "prompt_outputs.json"),
    manifest: join(heldPath, "manifest.json"),
  };
}

/**
 * Holds a run directory until disposed, so that no run is analysed or replaced before its recording has ended. That of
 * a tracer that was killed is free.
 * @param instead what can be done where it is held, or cannot be written
 * @throws MrmTraceError usage while another process holds it, environment where the folder cannot be written
 */
export function holdRun(path: string, instead = "give another folder with --output"): Disposable {
  return lockFolder(path, { busy: "another mrm-trace is at work in", instead });
}
