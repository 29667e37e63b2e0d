/** What differs between a run directory and its manifest. */
import { join } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { digest, entriesBelow, readManifest } from "./manifest.ts";

/** Paths below the run directory; all empty where nothing differs. */
export interface ManifestCheck {
  /** Files that the manifest lists. */
  readonly n_files: number;
  readonly size_bytes: number;
  /** Listed and not there. */
  readonly missing: readonly string[];
  /** Listed with another size or digest. */
  readonly changed: readonly string[];
  /** There, and not listed: nothing but what was recorded may lie in capture/. */
  readonly unlisted: readonly string[];
}

/**
 * Reads every file that the manifest lists; opens nothing outside the run directory, and follows no link.
 * @param onShare told before each file how much is done, by the bytes that the manifest lists
 * @throws MrmTraceError data_quality where there is no manifest or it is damaged, names a path outside or a link
 */
export async function checkManifest(
  runDir: string,
  onShare: (share: number) => void = () => {},
): Promise<ManifestCheck> {
  const { files } = await readManifest(runDir);
  const entries = await entriesBelow(runDir);
  const others = new Set(entries.others);
  const present = new Set(entries.files);
  const missing: string[] = [];
  const changed: string[] = [];
  const all = files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  let bytes = 0;
  for (const { path, size_bytes, sha256 } of files) {
    onShare(bytes / Math.max(1, all));
    bytes += size_bytes;
    if (others.has(path)) {
      throw new MrmTraceError(
        "data_quality",
        `${join(runDir, path)} is in the manifest, and is no regular file`,
        "restore the run directory from a copy: a link or a pipe in place of a file is nothing that mrm-trace writes",
      );
    }
    if (!present.delete(path)) {
      missing.push(path);
      continue;
    }
    const found = await digest(join(runDir, path));
    if (found.size_bytes !== size_bytes || found.sha256 !== sha256) changed.push(path);
  }
  const unlisted = [...present, ...others].sort();
  return { n_files: files.length, size_bytes: bytes, missing, changed, unlisted };
}
