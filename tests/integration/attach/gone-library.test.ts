import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openRun } from "../../../src/api/open-run.ts";
import type { RowOf } from "../../../src/schema/row.ts";
import type { RunJson } from "../../../src/schema/run-json.ts";
import { fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "../run/cli.ts";

setDefaultTimeout(120_000);
const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true }));
afterEach(endLeftRuns);

const build = await fetchLlamaServer();
if (!build.ok) process.stderr.write(`skipped: a library of llama.cpp that is gone: ${build.reason}\n`);
const DRIVER = new URL("../../fixtures/llama_late.py", import.meta.url).pathname;

test.skipIf(!build.ok).each([
  ["deleted", (path: string) => rmSync(path)],
  [
    "replaced by one without an engine",
    (path: string) => {
      copyFileSync("/bin/true", `${path}.new`);
      renameSync(`${path}.new`, path);
    },
  ],
])("a process whose library was %s since it was loaded is known as any other", async (how, change) => {
  if (!build.ok) return;
  const folder = join(output, how.split(" ")[0] ?? "");
  mkdirSync(folder);
  const library = join(folder, "xllamacpp.abi3.so");
  copyFileSync(build.objects[0] ?? "", library);
  const decoder = Bun.spawn(["python3", DRIVER, library, folder], {
    env: { ...process.env, ...build.env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  try {
    await decoder.stdout.getReader().read();
    change(library);
    const words = ["--json", "--ebpf", "engine", "--duration", "2s", ...QUICK, "--output", output];
    const report = jsonOf(await runCli(["attach", String(decoder.pid), ...words])) as unknown as RunJson;
    using run = openRun(report.run_dir);
    const steps = run.table("step").toArray() as unknown as RowOf<"step">[];
    const regions = run.table("region_map").toArray() as unknown as RowOf<"region_map">[];
    expect(report.target.decode_tokens).toBeGreaterThan(100);
    expect(new Set(steps.map(({ engine }) => engine))).toEqual(new Set(["llama.cpp"]));
    expect(regions.filter(({ region_type }) => region_type === "weight").length).toBe(21);
    expect(regions.filter(({ region_type }) => region_type === "kv_cache").length).toBe(4);
    // The recording may end within a batch, and says so.
    expect(
      report.warnings.filter((warning) => !/^a batch of 1 token had not returned at the end:/.test(warning)),
    ).toEqual([]);
  } finally {
    decoder.kill("SIGKILL");
  }
});
