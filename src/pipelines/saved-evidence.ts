/** What a finished run says of itself beside its report: its metadata, and the hashes of its files. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openRun } from "../api/open-run.ts";
import { digest, MANIFEST, type Manifest, readManifest } from "../run-directory/manifest.ts";
import type { RunReport } from "../schema/run-json.ts";
import type { RunMetadata } from "../schema/run-metadata.ts";
import { savedReport } from "./saved-report.ts";

export interface SavedEvidence {
  readonly report: RunReport;
  readonly metadata: RunMetadata;
  readonly manifest: { readonly content: Manifest; readonly sha256: string } | null;
}

/** @param runDir as the user typed it @throws MrmTraceError as savedReport does; data_quality where its manifest is damaged */
export async function savedEvidence(runDir: string): Promise<SavedEvidence> {
  const report = savedReport(runDir);
  using run = openRun(runDir);
  const path = join(runDir, MANIFEST);
  const manifest = existsSync(path)
    ? { content: await readManifest(runDir), sha256: (await digest(path)).sha256 }
    : null;
  return { report, metadata: run.metadata, manifest };
}
