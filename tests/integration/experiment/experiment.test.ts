import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { checkManifest } from "../../../src/run-directory/check-manifest.ts";
import { type Ended, endLeftRuns, jsonOf, outputFolder, runCli, startCli } from "../run/cli.ts";

afterEach(endLeftRuns);
const folder = outputFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** A file of experiments with quick runs, and the folder of their results. */
function fileOf(given: Record<string, unknown>, name = "sweep"): { path: string; output: string } {
  files += 1;
  const output = join(folder, `out-${files}`);
  const path = join(folder, `${files}.yaml`);
  const config = {
    experiment: { name },
    models: [{ id: "tiny", engine: "demo", params: "1m" }],
    sweep: { context_lengths: [64], output_tokens: [16] },
    run: { baseline: "100ms", watch_registers: 0 },
    output: { base_dir: output },
    ...given,
  };
  writeFileSync(path, JSON.stringify(config));
  return { path, output };
}

interface SweepRun {
  readonly run_id: string;
  readonly run_dir: string;
  readonly status: string;
  readonly in_aggregates: boolean;
  readonly validity: string;
  readonly is_warmup: boolean;
  readonly why: string | null;
}

function runsOf(ended: Awaited<ReturnType<typeof runCli>>): SweepRun[] {
  return jsonOf(ended).runs as SweepRun[];
}

const statuses = (ended: Awaited<ReturnType<typeof runCli>>): string[] => runsOf(ended).map(({ status }) => status);

describe("the runs of a file", () => {
  const sweep = { context_lengths: [64], output_tokens: [16], batch_sizes: [2], repetitions: 1, warmup_runs: 2 };
  const prompts = { count: 4, tokens: 40 };

  test("are made one by one, sealed, told in runs.csv, and skipped when they are complete", async () => {
    const { path, output } = fileOf({ sweep, prompts });
    const ended = await runCli(["run", "--config", path, "--json"]);
    expect({ exitCode: ended.exitCode, statuses: statuses(ended) }).toEqual({
      exitCode: 0,
      statuses: ["complete", "complete", "complete"],
    });
    const runs = runsOf(ended);
    expect(new Set(runs.map(({ run_dir }) => run_dir)).size).toBe(3);
    expect(runs.map(({ is_warmup }) => is_warmup)).toEqual([true, true, false]);
    for (const { run_dir, run_id, in_aggregates, is_warmup, validity } of runs) {
      expect(run_dir).toBe(join(output, "tiny", run_id));
      expect(await checkManifest(run_dir)).toMatchObject({ changed: [], missing: [] });
      expect(in_aggregates).toBe(!is_warmup && validity !== "contaminated");
      const metadata = JSON.parse(readFileSync(join(run_dir, "metadata.json"), "utf8"));
      expect(metadata.generation).toMatchObject({ context_length: 64, batch_size: 2 });
      // 4 prompts of exactly 40 tokens, 16 tokens behind each, the first of them from the prompt's own pass.
      expect(metadata.target).toMatchObject({ prompt_tokens: 160, decode_tokens: 60 });
    }
    const csv = readFileSync(join(output, "runs.csv"), "utf8").trim().split("\n");
    expect(csv.slice(1).map((line) => line.split(",")[2])).toEqual(runs.map(({ run_id }) => run_id));

    const again = await runCli(["run", "--config", path, "--json"]);
    expect(again.exitCode).toBe(2);
    expect(jsonOf(again)).toMatchObject({ error: { code: "usage", hint: expect.stringContaining("--resume") } });

    // A run without its seal is cut: it is made again, the others are not.
    rmSync(join(runs[1]?.run_dir ?? "", "manifest.json"));
    const resumed = await runCli(["run", "--config", path, "--json", "--resume"]);
    expect(statuses(resumed)).toEqual(["skipped", "complete", "skipped"]);

    const plan = jsonOf(await runCli(["plan", path, "--json"]));
    expect(plan).toMatchObject({ totals: { runs: 3, warmups: 2, complete: 3, time_s: 0, disk_bytes: 0 } });
    const [first] = plan.runs as { state: string; predicted: { is_same: boolean; runs: number; time_s: number } }[];
    expect(first).toMatchObject({ state: "complete", predicted: { is_same: true, runs: 3 } });
    expect(first?.predicted.time_s).toBeGreaterThan(0);
    // Made with other settings they are other runs.
    const other = jsonOf(await runCli(["plan", path, "--json", "--budget", "2"]));
    expect((other.runs as { state: string }[]).map(({ state }) => state)).toEqual(["absent", "absent", "absent"]);
  });

  test("go on when one fails, and end with 1", async () => {
    const [whole, broken] = [join(folder, "whole.gguf"), join(folder, "broken.gguf")];
    await writeModel({ params: "1m", type: "q8_0", seed: 1 }, whole);
    const bytes = readFileSync(whole);
    // A whole GGUF of an architecture that the engine does not know.
    for (let at = bytes.indexOf("llama"); at >= 0 && at < 4096; at = bytes.indexOf("llama", at + 1))
      bytes.write("lxxxa", at);
    writeFileSync(broken, bytes);
    const models = [
      { id: "broken", engine: "llamacpp", path: broken },
      { id: "tiny", engine: "llamacpp", path: whole },
    ];
    const lines = [
      { prompt: "not taken", category: "other" },
      { prompt: "a prompt that is repeated until it is as long as it must be", category: "mine" },
    ];
    const source = join(folder, "prompts.jsonl");
    writeFileSync(source, lines.map((line) => JSON.stringify(line)).join("\n"));
    const prompts = { source, categories: ["mine"], tokens: 45, count: 2 };
    const { path, output } = fileOf({ models, prompts });
    const ended = await runCli(["run", "--config", path, "--json"]);
    expect({ exitCode: ended.exitCode, statuses: statuses(ended) }).toEqual({
      exitCode: 1,
      statuses: ["failed", "complete"],
    });
    expect(runsOf(ended)[0]?.why).toContain("the target failed: ");
    const [, tiny] = runsOf(ended);
    const metadata = JSON.parse(readFileSync(join(tiny?.run_dir ?? "", "metadata.json"), "utf8"));
    expect(metadata.target).toMatchObject({ prompt_tokens: 90, decode_tokens: 30 });
    expect(readFileSync(join(output, "runs.csv"), "utf8")).toContain(",failed,0,");
  });

  test("stop at SIGINT with 130, and the rest can be resumed", async () => {
    const models = [{ id: "slow", engine: "demo", params: "15m" }];
    const { path, output } = fileOf({
      models,
      sweep: { context_lengths: [1024], output_tokens: [900], repetitions: 2 },
    });
    const run = startCli(["run", "--config", path, "--json", "--verbose"]);
    await run.said("demo: random-15m");
    run.signal("SIGINT");
    const ended = await run.ended;
    expect(ended.exitCode).toBe(130);
    expect(statuses(ended)).toEqual(["interrupted", "not_run"]);
    expect(existsSync(join(output, "runs.csv"))).toBe(true);
    const plan = jsonOf(await runCli(["plan", path, "--json"]));
    expect((plan.runs as { state: string }[]).map(({ state }) => state)).toEqual(["incomplete", "absent"]);
    const resumed = startCli(["run", "--config", path, "--json", "--resume"]);
    await resumed.said("[1/2]");
    resumed.signal("SIGTERM");
    expect((await resumed.ended).exitCode).toBe(143);
  });

  test("are refused before the first where the disk would fill", async () => {
    const { path } = fileOf({ sweep: { context_lengths: [64], output_tokens: [16], repetitions: 1 } });
    const many = fileOf({ sweep: { context_lengths: [64], output_tokens: [16], repetitions: 900 } });
    const full = join(folder, "full");
    mkdirSync(full);
    const mount = 'mount -t tmpfs -o size=24m none "$0" && "$1" "$2" run --config "$3" --output "$0" --quiet >&2';
    const script = `${mount}; shift 3; exec "$@"`;
    const cli = new URL("../../../src/cli.ts", import.meta.url).pathname;
    const prefix = [
      "unshare",
      "--mount",
      "--propagation",
      "private",
      "sh",
      "-c",
      script,
      full,
      process.execPath,
      cli,
      path,
    ];
    const ended = await runCli(["run", "--config", many.path, "--output", full, "--json", "--resume"], { prefix });
    expect(ended.exitCode).toBe(3);
    const { error } = jsonOf(ended) as { error: { code: string; message: string } };
    expect(error.code).toBe("environment");
    expect(error.message).toContain("899 runs will take about");
    expect(ended.stderr).not.toContain("[1/900]");
  });
});

describe("the command line refuses", () => {
  const refused: [what: string, args: (path: string) => string[], message: string][] = [
    [
      "a command beside an experiment",
      (path) => ["run", "--config", path, "--json", "--", "true"],
      "a command was given",
    ],
    ["a run id for many runs", (path) => ["run", "--config", path, "--json", "--run-id", "x"], "--run-id was given"],
    ["to resume nothing", () => ["run", "--resume", "--json"], "without an experiment"],
    ["a file that is not there", (path) => ["run", "--config", `${path}.none`, "--json"], "no such file or directory"],
    ["a plan of options", () => ["plan", "config/default.yaml", "--json"], "no experiment"],
    ["config without a word", () => ["config", "--json"], "default or show expected"],
  ];
  test.each(refused)("%s", async (_, args, message) => {
    const ended = await runCli(args(fileOf({}).path));
    expect(ended.exitCode).toBe(2);
    expect((jsonOf(ended) as { error: { message: string } }).error.message).toContain(message);
  });

  test("a file with every problem in the one message", async () => {
    const { path } = fileOf({ sweeep: 1, models: [{ id: "..", engine: "demo" }] });
    const ended = await runCli(["run", "--config", path, "--json"]);
    const { error } = jsonOf(ended) as { error: { message: string } };
    expect(ended.exitCode).toBe(2);
    expect(error.message).toContain("did you mean sweep?");
    expect(error.message).toContain("this id is no name for a folder");
  });

  test("an engine that is not here with 3, and tells it as one object", async () => {
    const weights = join(folder, "weights");
    mkdirSync(weights, { recursive: true });
    writeFileSync(join(weights, "config.json"), JSON.stringify({ vocab_size: 1000 }));
    const { path } = fileOf({ models: [{ id: "a", engine: "vllm", path: weights }] });
    const env = { PATH: weights };
    for (const verb of ["validate", "plan"]) {
      const ended = await runCli([verb, path, "--json"], { env });
      expect(ended.exitCode).toBe(3);
      expect(jsonOf(ended)).toMatchObject({ error: { code: "environment", exit_code: 3 } });
    }
    const told = jsonOf(await runCli(["validate", path, "--json"], { env }));
    expect(told).toMatchObject({ valid: false, problems: [{ key: "models[0].engine", line: 1, received: '"vllm"' }] });
  });
});

test("config shows where each option comes from, and defaults that are valid", async () => {
  const { path } = fileOf({});
  const shown = await runCli(["config", "show", "--config", path, "--budget", "3"], { env: { MRM_TRACE_SEED: "9" } });
  expect(shown.stdout).toContain("budget: 3  # --budget");
  expect(shown.stdout).toContain("seed: 9  # MRM_TRACE_SEED");
  expect(shown.stdout).toContain(`baseline: 100ms  # ${path}:1`);
  expect(shown.stdout).toContain("max_size: 4GiB  # default");
  const defaults = join(folder, "default.yaml");
  writeFileSync(defaults, (await runCli(["config", "default"])).stdout);
  expect((await runCli(["validate", defaults])).exitCode).toBe(0);
});

test("config default with --json is one object, of the same form as that of config show", async () => {
  const [ofDefaults, ofHere] = await Promise.all(["default", "show"].map((what) => runCli(["config", what, "--json"])));
  const { options, ...rest } = jsonOf(ofDefaults as Ended) as {
    options: { key: string; value: unknown; from: string }[];
  };
  const { options: here, ...shown } = jsonOf(ofHere as Ended) as { options: { key: string }[] };
  expect(rest).toEqual(shown);
  expect(options).toContainEqual({ key: "run.max_size", value: "4GiB", from: "default" });
  const keys = new Set(here.map(({ key }) => key));
  expect(options.filter(({ key, from }) => from !== "default" || !keys.has(key))).toEqual([]);
});
