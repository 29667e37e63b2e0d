/** The run directory: its name, its place, and the paths in it. */
import { randomBytes } from "node:crypto";
import { accessSync, constants, existsSync, mkdirSync, realpathSync, rmSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { lockFolder } from "./folder-lock.ts";

export interface RunDirectory {
  /** As the user would type it. */
  readonly path: string;
  readonly run_id: string;
  readonly model_id: string;
  readonly capture: string;
  readonly trace: string;
  readonly raw: string;
  readonly region_map: string;
  readonly kv_block_lifecycle: string;
  readonly metrics_csv: string;
  readonly metrics_parquet: string;
  readonly metadata: string;
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

/** Slug of the model's own name (general.name of its GGUF), else of the command's base name. */
export function modelId(modelName: string | null, command: readonly string[]): string {
  return modelSlug(modelName?.trim() || basename(command[0] ?? ""));
}

/** `YYYYmmddTHHMMSSZ-<4 hex>` in UTC. */
export function newRunId(now: Date = new Date()): string {
  const stamp = now.toISOString().replace(/[-:]|\.\d+/g, "");
  return `${stamp}-${randomBytes(2).toString("hex")}`;
}

function checkId(what: string, id: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id) && id.length <= MAX_NAME) return;
  throw new MrmTraceError(
    "usage",
    `${what} of letters, digits, ".", "_" and "-" expected, but received "${id}"`,
    `give one such as ${newRunId()}, at most ${MAX_NAME} characters long`,
  );
}

function environment(path: string, cause: unknown): MrmTraceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const hint = "give a folder that you may write to with --output DIR, or free space there";
  return new MrmTraceError("environment", `the run directory ${path} cannot be made: ${why}`, hint, { cause });
}

/** The paths below a run directory; makes nothing. */
export function runPaths(path: string): RunDirectory {
  const run_id = basename(path);
  const model_id = basename(resolve(path, ".."));
  return {
    path,
    run_id,
    model_id,
    capture: join(path, "capture"),
    trace: join(path, "trace"),
    raw: join(path, "raw"),
    region_map: join(path, "region_map.parquet"),
    kv_block_lifecycle: join(path, "kv_block_lifecycle.parquet"),
    metrics_csv: join(path, "metrics.csv"),
    metrics_parquet: join(path, "metrics.parquet"),
    metadata: join(path, "metadata.json"),
    manifest: join(path, "manifest.json"),
  };
}

/** True where a folder looks like a run of ours, the only thing that --force may remove. */
function isRun(path: string): boolean {
  return existsSync(join(path, "manifest.json")) || existsSync(join(path, "capture"));
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

/**
 * Makes `output/<model_id>/<run_id>/` with its capture folder, mode 0700.
 * @throws MrmTraceError usage for ids that are no names and for a run that is there already or held, environment where it cannot be made
 */
export function createRunDirectory(options: {
  readonly output: string;
  readonly model_id: string;
  readonly run_id: string;
  readonly force: boolean;
}): RunDirectory {
  const { output, model_id, run_id, force } = options;
  checkId("a model id", model_id);
  checkId("a run id", run_id);
  const model = join(output, model_id);
  const path = join(model, run_id);
  try {
    mkdirSync(model, { recursive: true, mode: 0o700 });
    accessSync(model, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw environment(path, cause);
  }
  // A link in place of the model's folder would lead out of the output folder.
  const inside = relative(realpathSync(output), realpathSync(model));
  if (inside !== model_id) throw environment(path, new Error(`${model} is a link to another folder`));
  const taken = `${path} is there already`;
  if (existsSync(path) && force) {
    if (!isRun(path))
      throw new MrmTraceError("usage", `${taken} and is no run of ours`, "move it away, or give another --run-id");
    using _held = holdRun(path);
    rmSync(path, { recursive: true, force: true });
  }
  try {
    // Making the folder is what claims it: of two runs with one id, one gets EEXIST.
    mkdirSync(path, { mode: 0o700 });
    mkdirSync(join(path, "capture"), { mode: 0o700 });
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") {
      throw new MrmTraceError("usage", taken, "give --force to replace it, or another --run-id", { cause });
    }
    throw environment(path, cause);
  }
  return runPaths(path);
}
