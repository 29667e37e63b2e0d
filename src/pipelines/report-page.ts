/** The page of finished runs, from their files: of one run in its folder, of several side by side in a file of its own. */
import { resolve } from "node:path";
import { openRun } from "../api/open-run.ts";
import { pageOf } from "../report/page/page.ts";
import { writeFileAtomic } from "../run-directory/atomic-file.ts";
import { renewInManifest } from "../run-directory/manifest.ts";
import { requirePlace, requireReplaceable } from "../run-directory/replaceable.ts";
import { holdRun, runPaths } from "../run-directory/run-directory.ts";
import { NO_PAGE } from "../schema/run-json.ts";
import { savedReport } from "./saved-report.ts";

/** Where the page of several runs goes when no place is named. */
const SEVERAL = "mrm-trace-report.html";

/**
 * Writes the page and returns its path.
 * @param runDirs as the user typed them
 * @param out the file to write; null for report.html of the one run, or `mrm-trace-report.html` here for several
 * @param force whether another file in that place may be replaced; report.html of the run always is
 * @throws MrmTraceError usage (no such folder, the place is taken), data_quality (a run was not
 *   analysed or is damaged), environment (the place cannot be written)
 */
export async function reportPage(runDirs: readonly string[], out: string | null, force: boolean): Promise<string> {
  const runs = runDirs.map((runDir) => {
    using run = openRun(runDir);
    const report = savedReport(runDir);
    // What is written now says no longer that it could not be.
    const warnings = report.warnings.filter((text) => !text.startsWith(NO_PAGE));
    return { report: { ...report, warnings }, metadata: run.metadata, heldPath: resolve(runDir) };
  });
  const [only] = runDirs;
  if (out === null && runDirs.length === 1 && only !== undefined) {
    const { heldPath, report_page } = runPaths(resolve(only));
    using _held = holdRun(heldPath, "name another place with --out FILE");
    requireReplaceable(report_page, "name another place with --out FILE");
    writeFileAtomic(report_page, await pageOf(runs), "--out");
    await renewInManifest(heldPath, "report.html");
    return report_page;
  }
  const path = resolve(out ?? SEVERAL);
  requirePlace(path, force, "--out");
  writeFileAtomic(path, await pageOf(runs), "--out");
  return path;
}
