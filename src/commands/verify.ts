/** `mrm-trace verify`: whether a run directory is still what its manifest says. */
import { join } from "node:path";
import { defineCommand } from "citty";
import { EXIT_CODES } from "../errors.ts";
import { createProgress } from "../report/progress.ts";
import { printable } from "../report/terminal.ts";
import { tellShare } from "../report/working.ts";
import { checkManifest, type ManifestCheck } from "../run-directory/check-manifest.ts";
import { MANIFEST } from "../run-directory/manifest.ts";
import { lookAt, requireFolder } from "../run-directory/named-path.ts";
import { toJson } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { formatBytes, formatCounted } from "../units.ts";

/** What differs; people may keep files of their own beside what was recorded, but not in capture/. */
function differences({ missing, changed, unlisted }: ManifestCheck) {
  return { missing, changed, unlisted: unlisted.filter((path) => path.startsWith("capture/")) };
}

function asText(runDir: string, check: ManifestCheck): string {
  const { missing, changed, unlisted } = differences(check);
  const lines = [
    ...missing.map((path) => `missing   ${path}`),
    ...changed.map((path) => `changed   ${path}`),
    ...unlisted.map((path) => `unlisted  ${path}`),
  ];
  const listed = `${formatCounted(check.n_files, "file")} of ${formatBytes(check.size_bytes)}`;
  const verdict =
    lines.length === 0
      ? `${runDir} is what its manifest says: ${listed}`
      : `${runDir} differs from its manifest in ${formatCounted(lines.length, "file")}`;
  return [...lines, verdict].map((line) => `${printable(line)}\n`).join("");
}

export const verifyCommand = defineCommand({
  meta: { name: "verify", description: "Compare the files of a run with the hashes of its manifest" },
  args: {
    run_dir: { type: "positional", description: "Folder of a run, such as results/MODEL/RUN_ID", required: true },
    json: { type: "boolean", default: false, description: "print one JSON object" },
  },
  async run({ args }) {
    const { run_dir, json } = args;
    requireFolder(run_dir);
    lookAt(join(run_dir, MANIFEST), run_dir);
    const progress = createProgress(process.stderr);
    const check = await checkManifest(run_dir, tellShare(progress, "hashing")).finally(() => progress.clear());
    const differing = differences(check);
    const exit_code = Object.values(differing).some((paths) => paths.length > 0) ? EXIT_CODES.data_quality : 0;
    const { n_files, size_bytes } = check;
    const object = { schema_version: JSON_SCHEMA_VERSION, run_dir, n_files, size_bytes, ...differing, exit_code };
    process.stdout.write(json ? `${toJson(object)}\n` : asText(run_dir, check));
    return exit_code;
  },
});
