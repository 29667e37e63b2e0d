import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { openRun } from "../../../src/api/open-run.ts";
import type { RowOf } from "../../../src/schema/row.ts";
import type { RunJson } from "../../../src/schema/run-json.ts";
import { compileTorch } from "../../fixtures/fake-torch/compile-torch.ts";
import { fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "../run/cli.ts";

setDefaultTimeout(120_000);
const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true }));
afterEach(endLeftRuns);

const build = await fetchLlamaServer();
if (!build.ok) process.stderr.write(`skipped: llama.cpp that ends in a decode call: ${build.reason}\n`);
const FIXTURES = new URL("../../fixtures/", import.meta.url).pathname;

interface Cut {
  readonly report: RunJson;
  readonly steps: readonly RowOf<"step">[];
  readonly rows: readonly RowOf<"kv_block_lifecycle">[];
  readonly regions: readonly RowOf<"region_map">[];
}

const inOrder = (steps: RowOf<"step">[]): RowOf<"step">[] =>
  steps.toSorted((one, other) => Number(one.timestamp_ns - other.timestamp_ns));

/** A run of a program that ends in its work: it has failed, lost nothing, and no life of anything goes on behind it. */
async function cutRun(command: readonly string[], env: Record<string, string> = {}): Promise<Cut> {
  const ended = await runCli(["run", "--json", "--ebpf", "engine", ...QUICK, "--output", output, "--", ...command], {
    env,
  });
  expect(ended.exitCode).toBe(6);
  const report = jsonOf(ended) as unknown as RunJson;
  expect(report.stopped_by).toBe("target_ended");
  expect(report.ledger.filter(({ dropped }) => dropped !== "0")).toEqual([]);
  using run = openRun(report.run_dir);
  const rowsOf = <T>(table: Parameters<typeof run.table>[0]): T[] => run.table(table).toArray() as unknown as T[];
  const exit = rowsOf<RowOf<"mapping">>("mapping").findLast(
    ({ kind, pid }) => kind === "exit" && pid === report.target.pid,
  );
  const regions = rowsOf<RowOf<"region_map">>("region_map").filter(
    ({ region_type }) => region_type === "weight" || region_type === "kv_cache",
  );
  expect(regions.length).toBeGreaterThan(0);
  expect(regions.filter(({ death_ns }) => death_ns !== exit?.timestamp_ns)).toEqual([]);
  return { report, regions, steps: inOrder(rowsOf("step")), rows: rowsOf("kv_block_lifecycle") };
}

test.skipIf(!build.ok).each([
  ["os._exit", "exit", { exit_code: 3, signal: null }],
  ["SIGKILL", "kill", { exit_code: null, signal: "SIGKILL" }],
] as const)(
  "llama.cpp that ends by %s in the midst of a decode call leaves all that came before, and that call without an end",
  async (_, how, end) => {
    if (!build.ok) return;
    const driver = ["python3", join(FIXTURES, "llama_ends.py"), build.objects[0] ?? "", output, how];
    const { report, steps, rows, regions } = await cutRun(driver, build.env);
    const [prompt, decoded, last] = [40, 100, 20];
    expect(report.target).toMatchObject({ ...end, prompt_tokens: prompt, decode_tokens: decoded });
    const calls = steps.filter(({ kind }) => kind === "decode").map(({ n_tokens, result }) => [n_tokens, result]);
    expect(calls).toEqual([[prompt, 0n], ...Array.from({ length: decoded }, () => [1, 0n]), [last, null]]);
    const cut = steps.filter(({ kind }) => kind === "decode").at(-1);
    expect([cut?.end_ns, cut?.position_first]).toEqual([null, prompt + decoded]);
    // All rows go with the process, in which four tensors held them.
    const gone_ns = regions[0]?.death_ns;
    expect(new Set(rows.map(({ ended_by, evict_ns }) => `${ended_by} ${evict_ns}`))).toEqual(
      new Set([`memory_gone ${gone_ns}`]),
    );
    // Of the rows of the last call nobody knows which were written.
    expect(rows.length).toBe(4 * (prompt + decoded));
    expect(report.warnings).toContain(
      `a batch of ${last} tokens had not returned at the end: which of its rows were written is not known, and none of them counts`,
    );
  },
);

test("a Python process that ends by os._exit in the midst of a pass of torch leaves every pass before", async () => {
  const torch = compileTorch(output);
  const library = join(output, "passes.so");
  const source = join(FIXTURES, "fake-torch/generate.c");
  const cc = ["cc", "-O1", "-shared", "-fPIC", "-o", library, source, torch.library, `-Wl,-rpath,${output}`];
  expect(Bun.spawnSync(cc).exitCode).toBe(0);
  const { report, steps, regions } = await cutRun(["python3", join(FIXTURES, "torch_exit.py"), library, "200"]);
  expect(report.target).toMatchObject({ exit_code: 4, signal: null });
  const passes = steps.filter(({ kind }) => kind === "decode");
  expect(passes.slice(0, 202).map(({ n_tokens }) => n_tokens)).toEqual([40, ...Array(200).fill(1), 40]);
  expect(passes.length).toBeGreaterThan(300);
  expect(passes.slice(0, -1).filter(({ end_ns }) => end_ns === null)).toEqual([]);
  expect(regions.map(({ region_type }) => region_type)).toEqual(Array(6).fill("weight"));
  expect(report.target.prompt_tokens).toBe(80);
  expect(passes.length - (report.target.decode_tokens ?? 0)).toBeWithin(2, 4);
});
