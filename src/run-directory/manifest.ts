/** manifest.json: size and SHA-256 of every file of a run, written last. */
import { createHash } from "node:crypto";
import type { Dirent } from "node:fs";
import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { toJson } from "../schema/run-json.ts";
import { PARQUET_SCHEMA_VERSION } from "../schema/versions.ts";
import { PARTIAL, writeFileAtomic } from "./atomic-file.ts";
import { LOCK } from "./folder-lock.ts";

export const MANIFEST = "manifest.json";
export const MANIFEST_SCHEMA_VERSION = "1.0";
const BUFFER_BYTES = 1 << 20;

const manifestSchema = z.object({
  manifest_schema_version: z.string(),
  run_id: z.string(),
  created_at_utc: z.string(),
  files: z.array(
    z.object({
      /** Relative to the run directory, with `/`. */
      path: z.string(),
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

/** Relative paths of all regular files, sorted; links are not followed, what is unfinished, the lock and the manifest are left out. */
async function filesBelow(runDir: string, folder = ""): Promise<string[]> {
  const entries: Dirent[] = await readdir(join(runDir, folder), { withFileTypes: true });
  const found = await Promise.all(
    entries.map((entry): Promise<string[]> | string[] => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) return filesBelow(runDir, path);
      return entry.isFile() && path !== MANIFEST && path !== LOCK && !path.endsWith(PARTIAL) ? [path] : [];
    }),
  );
  return found.flat().sort((a, b) => (a < b ? -1 : 1));
}

/** Size and digest of a file in one pass, through one buffer. */
async function digest(path: string): Promise<{ size_bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  let size = 0;
  await using file = await open(path);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length);
    if (bytesRead === 0) return { size_bytes: size, sha256: hash.digest("hex") };
    hash.update(buffer.subarray(0, bytesRead));
    size += bytesRead;
  }
}

/** Reads every file of the run directory and replaces its manifest.json. @throws MrmTraceError environment when it cannot be written */
export async function writeManifest(runDir: string, runId: string, now: Date = new Date()): Promise<Manifest> {
  const files: ManifestFile[] = [];
  for (const path of await filesBelow(runDir)) {
    const version = hasSchema(path) ? { schema_version: PARQUET_SCHEMA_VERSION } : {};
    files.push({ path, ...(await digest(join(runDir, path))), ...version });
  }
  const manifest: Manifest = {
    manifest_schema_version: MANIFEST_SCHEMA_VERSION,
    run_id: runId,
    created_at_utc: now.toISOString().replace("Z", "+00:00"),
    files,
  };
  writeFileAtomic(join(runDir, MANIFEST), `${toJson(manifest, 2)}\n`);
  return manifest;
}

/** What differs between a run directory and its manifest; empty when nothing does. */
export interface ManifestCheck {
  /** Listed and not there. */
  readonly missing: readonly string[];
  /** Listed with another size or digest. */
  readonly changed: readonly string[];
  /** There and not listed. */
  readonly unlisted: readonly string[];
  /** False where there is no manifest or it cannot be read as one. */
  readonly readable: boolean;
}

/** Compares a run directory with its manifest; never throws for what the manifest holds. */
export async function checkManifest(runDir: string): Promise<ManifestCheck> {
  const text = await readFile(join(runDir, MANIFEST), "utf8").catch(() => "");
  let raw: unknown = null;
  try {
    raw = JSON.parse(text);
  } catch {
    // Not JSON is the same answer as not there: unreadable.
  }
  const parsed = manifestSchema.safeParse(raw);
  const present = new Set(await filesBelow(runDir));
  if (!parsed.success) return { missing: [], changed: [], unlisted: [...present], readable: false };
  const missing: string[] = [];
  const changed: string[] = [];
  for (const { path, size_bytes, sha256 } of parsed.data.files) {
    if (!present.delete(path)) {
      missing.push(path);
      continue;
    }
    const found = await digest(join(runDir, path));
    if (found.size_bytes !== size_bytes || found.sha256 !== sha256) changed.push(path);
  }
  return { missing, changed, unlisted: [...present], readable: true };
}
