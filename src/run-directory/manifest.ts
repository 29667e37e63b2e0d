/** manifest.json: size and SHA-256 of every file of a run, written last. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { MrmTraceError, reasonText } from "../errors.ts";
import { refuseOtherMajor } from "../schema/refuse-version.ts";
import { toJson } from "../schema/run-json.ts";
import { PARQUET_SCHEMA_VERSION } from "../schema/versions.ts";
import { PARTIAL, writeFileAtomic } from "./atomic-file.ts";
import { LOCK } from "./folder-lock.ts";
import { analyseCommand } from "./shell-words.ts";

export const MANIFEST = "manifest.json";
export const MANIFEST_SCHEMA_VERSION = "1.0";
const CAPTURE = "capture/";
const BUFFER_BYTES = 1 << 20;
/** Some 400,000 files. */
const LARGEST_BYTES = 2 ** 26;

/** True for a path that leads to a place inside the folder that it is relative to. */
function isInside(path: string): boolean {
  return !path.includes("\0") && path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

const manifestSchema = z.object({
  manifest_schema_version: z.string(),
  run_id: z.string(),
  created_at_utc: z.string(),
  files: z.array(
    z.object({
      /** Relative to the run directory, with `/`. */
      path: z.string().refine(isInside, { error: "a path leads out of the run directory" }),
      size_bytes: z.int().min(0),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      schema_version: z.string().optional(),
    }),
  ),
});
export type Manifest = z.infer<typeof manifestSchema>;
export type ManifestFile = Manifest["files"][number];

/** Files whose layout has a version. */
function hasSchema(path: string): boolean {
  return path.endsWith(".parquet") || path === "metrics.csv" || path === "metadata.json";
}

/** What lies below a run directory, as sorted paths with `/`. */
export interface RunEntries {
  readonly files: readonly string[];
  /** Links, pipes and what else is no regular file; never followed or opened. */
  readonly others: readonly string[];
}

/** Everything but the manifest and the lock. */
export async function entriesBelow(runDir: string, folder = ""): Promise<RunEntries> {
  const found: RunEntries & { files: string[]; others: string[] } = { files: [], others: [] };
  for (const entry of await readdir(join(runDir, folder), { withFileTypes: true })) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (path === MANIFEST || path === LOCK) continue;
    if (entry.isDirectory()) {
      const inside = await entriesBelow(runDir, path);
      found.files.push(...inside.files);
      found.others.push(...inside.others);
    } else (entry.isFile() ? found.files : found.others).push(path);
  }
  found.files.sort();
  found.others.sort();
  return found;
}

/** Opens a regular file; a link is not followed, and a pipe is not waited for. */
async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error(`${path} is no regular file`);
}

/** Size and digest of a file in one pass, through one buffer. */
export async function digest(path: string): Promise<{ size_bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  let size = 0;
  await using file = await openRegular(path);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length);
    if (bytesRead === 0) return { size_bytes: size, sha256: hash.digest("hex") };
    hash.update(buffer.subarray(0, bytesRead));
    size += bytesRead;
  }
}

async function manifestText(path: string): Promise<string> {
  await using file = await openRegular(path);
  const { size } = await file.stat();
  if (size > LARGEST_BYTES) throw new Error(`${size} bytes are more than any manifest has`);
  return await file.readFile("utf8");
}

/** @throws MrmTraceError data_quality where there is none, or it is damaged, hostile or of another major version */
export async function readManifest(runDir: string): Promise<Manifest> {
  const path = join(runDir, MANIFEST);
  try {
    const object: unknown = JSON.parse(await manifestText(path));
    const versioned = z.object({ manifest_schema_version: z.string() }).safeParse(object).data;
    if (versioned) refuseOtherMajor(path, versioned.manifest_schema_version, MANIFEST_SCHEMA_VERSION);
    return manifestSchema.parse(object);
  } catch (cause) {
    throw cause instanceof MrmTraceError ? cause : unreadable(runDir, cause);
  }
}

function unreadable(runDir: string, cause: unknown): MrmTraceError {
  const again = analyseCommand(runDir);
  if (cause instanceof Error && Reflect.get(cause, "code") === "ENOENT") {
    const message = `${runDir} has no ${MANIFEST}: it is no run, or one whose recording did not end`;
    const hint = `give the folder that \`mrm-trace run\` named; of a recording that was cut off: ${again}`;
    return new MrmTraceError("data_quality", message, hint, { cause });
  }
  const why =
    cause instanceof z.ZodError
      ? z.prettifyError(cause).split("\n")[0]
      : cause instanceof SyntaxError
        ? "it is no whole JSON"
        : reasonText(cause);
  const message = `${join(runDir, MANIFEST)} cannot be read as a manifest: ${why}`;
  return new MrmTraceError("data_quality", message, `derive it again: ${again}`, { cause });
}

/**
 * What was recorded, as the manifest before says: what is derived is written anew, but nothing below capture/ is, so
 * that a segment that was changed or lost after the recording is told however often the run is analysed.
 */
async function recordedFiles(runDir: string): Promise<ManifestFile[]> {
  try {
    return (await readManifest(runDir)).files.filter(({ path }) => path.startsWith(CAPTURE));
  } catch (error) {
    if (error instanceof MrmTraceError) return [];
    throw error;
  }
}

/**
 * Replaces manifest.json by one of every finished file; those below capture/ keep what the first one said of them.
 * @throws MrmTraceError environment when it cannot be written
 */
export async function writeManifest(runDir: string, runId: string, now: Date = new Date()): Promise<Manifest> {
  const files = await recordedFiles(runDir);
  const isRecorded = files.length > 0;
  for (const path of (await entriesBelow(runDir)).files) {
    // What a tracer that was killed did not finish is no part of what was recorded.
    if (path.endsWith(PARTIAL)) await rm(join(runDir, path), { force: true });
    if (path.endsWith(PARTIAL) || (isRecorded && path.startsWith(CAPTURE))) continue;
    const version = hasSchema(path) ? { schema_version: PARQUET_SCHEMA_VERSION } : {};
    files.push({ path, ...(await digest(join(runDir, path))), ...version });
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const manifest: Manifest = {
    manifest_schema_version: MANIFEST_SCHEMA_VERSION,
    run_id: runId,
    created_at_utc: now.toISOString().replace("Z", "+00:00"),
    files,
  };
  writeFileAtomic(join(runDir, MANIFEST), `${toJson(manifest, 2)}\n`);
  return manifest;
}

/**
 * Puts one derived file that was written anew into manifest.json; what it says of all others stays as it is.
 * @param path relative to the run directory, with `/`
 * @throws MrmTraceError data_quality where there is no manifest, environment where it cannot be written
 */
export async function renewInManifest(runDir: string, path: string): Promise<void> {
  const manifest = await readManifest(runDir);
  const files = [
    ...manifest.files.filter((file) => file.path !== path),
    { path, ...(await digest(join(runDir, path))) },
  ];
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  writeFileAtomic(join(runDir, MANIFEST), `${toJson({ ...manifest, files }, 2)}\n`);
}
