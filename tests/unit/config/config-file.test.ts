import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfigFile } from "../../../src/config/config-file.ts";
import { problemLine, problemsExitCode } from "../../../src/config/problem.ts";
import { MrmTraceError } from "../../../src/errors.ts";
import { checkConfig } from "../../../src/experiment/check-experiment.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-trace-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

function fileOf(text: string | Uint8Array): string {
  files += 1;
  const path = join(folder, `${files}.yaml`);
  writeFileSync(path, text);
  return path;
}

/** `LINE:COLUMN: problem` of a text, and the exit code. */
function check(text: string, maxRuns = 1000): { problems: string[]; warnings: string[]; exitCode: number } {
  const file = readConfigFile(fileOf(text));
  const { problems, warnings } = checkConfig(file, maxRuns);
  const plain = (list: typeof problems) => list.map((problem) => problemLine("f", problem).slice(2));
  return { problems: plain(problems), warnings: plain(warnings), exitCode: problemsExitCode(problems) };
}

function refusalOf(text: string | Uint8Array): MrmTraceError {
  const path = fileOf(text);
  return refusalOfPath(path);
}

function refusalOfPath(path: string): MrmTraceError {
  try {
    readConfigFile(path);
  } catch (error) {
    if (error instanceof MrmTraceError) return error;
    throw error;
  }
  throw new Error(`${path} was read`);
}

const HEAD = "experiment: {name: x}\n";
const MODEL = "models: [{id: tiny, engine: demo, params: 1m}]\n";

describe("a file that is no configuration is refused as usage", () => {
  const refused: [what: string, text: string | Uint8Array, message: string][] = [
    ["empty", "", "is empty"],
    ["empty but for comments", "# nothing\n\n", "is empty"],
    ["not UTF-8", Uint8Array.of(0x61, 0x3a, 0x20, 0xe4, 0x0a), "not UTF-8"],
    ["UTF-16", Buffer.from("\ufeffrun: {}", "utf16le"), "not UTF-8"],
    ["too large", `# ${"x".repeat(2 ** 20)}`, "larger than"],
  ];
  test.each(refused)("%s", (_, text, message) => {
    const error = refusalOf(text);
    expect(error.exitCode).toBe(2);
    expect(error.message).toContain(message);
  });

  test("not there, or a folder", () => {
    const place = join(folder, "folder");
    mkdirSync(place);
    expect(refusalOfPath(place).message).toContain("cannot be read as a configuration: it is a folder");
    expect(refusalOfPath("/dev/null").message).toContain("not a regular file but a pipe or a device");
    expect(refusalOfPath(join(folder, "none.yaml")).message).toContain("no such file or directory");
  });
});

test("a value that two checks refuse is one problem", () => {
  const { problems } = check("demo: {tokens: 1e99}\n");
  expect(problems).toEqual([expect.stringContaining("demo.tokens: a whole number from 1 to 1000000000 expected")]);
});

describe("a hostile file ends soon, with one problem", () => {
  const hostile: [what: string, text: string, message: string][] = [
    [
      "aliases within aliases",
      `a: &a [x, x, x, x, x, x, x, x, x]\n${"bcdefghij"
        .split("")
        .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${"abcdefghi"[i]}`).join(", ")}]\n`)
        .join("")}`,
      "aliases",
    ],
    ["a hundred thousand brackets", "[".repeat(100_000), "nested too deeply"],
    ["a text", "just words", "a mapping of keys to values expected"],
    ["a list", "- 1\n- 2", "a mapping of keys to values expected"],
    ["two documents", "run: {}\n---\nrun: {}\n", "one document expected, but --- begins another"],
    ["a tab", "run:\n\tbudget: 1\n", "Tabs"],
  ];
  test.each(hostile)("%s", (_, text, message) => {
    const { problems, exitCode } = check(text);
    expect(exitCode).toBe(2);
    expect(problems.join("\n")).toContain(message);
    expect(problems.length).toBeLessThanOrEqual(100);
  });

  test("a hundred thousand unknown keys are a hundred problems", () => {
    const keys = Array.from({ length: 100_000 }, (_, i) => `k${i}:`).join("\n");
    expect(check(keys).problems).toHaveLength(100);
  });

  test("names of JavaScript are unknown keys like others", () => {
    const { problems } = check(
      "__proto__: {polluted: 1}\nconstructor: 1\nrun: {__proto__: {budget: 3}, toString: 1}\n",
    );
    expect(problems).toHaveLength(4);
    for (const line of problems) expect(line).toContain("unknown key");
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  test("a value that holds itself", () => {
    expect(check("models: &m [*m]\n").exitCode).toBe(2);
  });
});

test("every problem is told at once, in order, with line, column, what was received and the right key", () => {
  const { problems, exitCode } = check(
    [
      "experiment: {name: x}",
      "models:",
      "  - id: a",
      "    engine: demo",
      "    parms: 1m",
      "sweep:",
      "  batch_size: [1]",
      '  repetitions: "3"',
      "  output_tokens: 16",
      "run:",
      "  duration: 5",
      "  duration: 6s",
      "  max_size: 3 parsecs",
      "context_lengths: [1]",
    ].join("\n"),
  );
  expect(exitCode).toBe(2);
  expect(problems).toEqual([
    '5:5: models[0].parms: unknown key, but received "1m"; did you mean params?',
    "7:3: sweep.batch_size: unknown key, but received [1]; did you mean batch_sizes?",
    '8:16: sweep.repetitions: a whole number from 1 to 10000 expected, but received "3"; it is: runs of each combination',
    "9:18: sweep.output_tokens: a list expected, but received 16; it is: tokens decoded behind each prompt",
    '12:3: key given twice, but received "duration"',
    expect.stringContaining("13:13: run.max_size: a size with its unit expected"),
    "14:1: context_lengths: unknown key, but received [1]; it belongs to sweep.context_lengths",
  ]);
});

describe("options take units and types as on the command line", () => {
  const refused: [text: string, message: string][] = [
    ["run: {duration: 5 parsecs}", "a duration expected (write it as 500ms, 30s or 2h)"],
    ["run: {duration: true}", "text with its unit expected"],
    ["run: {max_size: 64}", "a size with its unit expected"],
    ["run: {budget: true}", "a number from 0.01 to 50 expected, but received true"],
    ["run: {budget: [1]}", "a number from 0.01 to 50 expected, but received [1]"],
    ["run: {json: true}", "unknown key"],
    ["run: {quiet: 1}", "true or false expected"],
    ["run: [1]", "a mapping of keys to values expected"],
    ["demo: {params: 7b}", "one of 1m, 15m, 110m, 1.1b expected"],
    ["sweep: {repetitions: 1.5}\nmodels: 1", "a whole number from 1 to 10000 expected, but received 1.5"],
    ["sweep: {context_lengths: []}", "at least 1 item expected"],
    ["sweep: {batch_sizes: [65]}", "a whole number from 1 to 64 expected, but received 65"],
    ["sweep: {batch_sizes: [~]}", "missing"],
  ];
  test.each(refused)("%s", (text, message) => {
    const { problems, exitCode } = check(text);
    expect(exitCode).toBe(2);
    expect(problems.join("\n")).toContain(message);
  });

  test("and JSON is read as YAML is", () => {
    const path = fileOf('{"run": {"duration": "1.5s", "max_size": "2MiB", "budget": 2, "baseline": 5}}');
    const run = { duration: 1.5e9, max_size: 2 * 2 ** 20, budget: 2, baseline: 5e9 };
    expect(readConfigFile(path).config?.run).toMatchObject(run);
  });
});

describe("an experiment is refused", () => {
  const refused: [what: string, text: string, exitCode: number, problem: string][] = [
    ["without models", `${HEAD}sweep: {}`, 2, "models are missing"],
    ["without a name", MODEL, 2, "needs `experiment"],
    ["with a model twice", `${HEAD}models: [{id: A b, engine: demo}, {id: a-b, engine: demo}]`, 2, "id given twice"],
    ["with a model that leaves the output folder", `${HEAD}models: [{id: ../../etc/x, engine: demo}]`, 2, "no name"],
    ["with an absolute model id", `${HEAD}models: [{id: /etc, engine: demo}]`, 2, "no name"],
    ["with a control character in an id", `${HEAD}models: [{id: "a\\e[2J", engine: demo}]`, 2, "no name"],
    ["with an id of dots", `${HEAD}models: [{id: "..", engine: demo}]`, 2, "no name"],
    ["with a missing model", `${HEAD}models: [{id: a, engine: llamacpp, path: none.gguf}]`, 2, "no such file"],
    [
      "with a model that is no GGUF",
      `${HEAD}models: [{id: a, engine: llamacpp, path: package.json}]`,
      2,
      "no whole GGUF",
    ],
    ["with a llamacpp model of no path", `${HEAD}models: [{id: a, engine: llamacpp}]`, 2, "needs a path"],
    ["with a model of a hub", `${HEAD}models: [{id: a, engine: llamacpp, hf_repo: a/b}]`, 2, "from a hub is refused"],
    ["with a vllm model of a hub", `${HEAD}models: [{id: a, engine: vllm, hf_repo: a/b}]`, 2, "from a hub is refused"],
    ["with a vllm model of no path", `${HEAD}models: [{id: a, engine: vllm}]`, 2, "a vllm model needs a path"],
    ["with transformers and no script", `${HEAD}models: [{id: a, engine: transformers}]`, 2, "needs a script"],
    [
      "with a script that is not there",
      `${HEAD}models: [{id: a, engine: transformers, path: none.py}]`,
      2,
      "there is no such file",
    ],
    [
      "with a server's model of no path",
      `${HEAD}models: [{id: a, engine: llama-server}]`,
      2,
      "a llama-server model needs a",
    ],
    ["with vllm and a mistake", `${HEAD}models: [{id: a, engine: vllm}]\nrn: 1`, 2, "unknown key"],
    ["with prompts of a hub", `${HEAD}${MODEL}prompts: {source: sharegpt}`, 2, "from a hub is refused"],
    ["with prompts of a URL", `${HEAD}${MODEL}prompts: {source: "hf://a/b.jsonl"}`, 2, "from a hub is refused"],
    ["with a missing file of prompts", `${HEAD}${MODEL}prompts: {source: ./none.txt}`, 2, "no such file"],
    ["with a value twice", `${HEAD}${MODEL}sweep: {batch_sizes: [1, 2, 1]}`, 2, "value given twice"],
    ["with no room for a prompt", `${HEAD}${MODEL}sweep: {context_lengths: [64], output_tokens: [64]}`, 2, "no room"],
    [
      "with too long prompts",
      `${HEAD}${MODEL}sweep: {context_lengths: [64], output_tokens: [8]}\nprompts: {tokens: 57}`,
      2,
      "do not fit",
    ],
    ["with a demo model that has a file", `${HEAD}models: [{id: a, engine: demo, path: x.gguf}]`, 2, "has no file"],
  ];
  test.each(refused)("%s", (_, text, exitCode, problem) => {
    const { problems, exitCode: code } = check(text);
    expect(problems.join("\n")).toContain(problem);
    expect(code).toBe(exitCode);
  });

  test("of a million runs, unless told", () => {
    const text = `${HEAD}${MODEL}sweep: {context_lengths: [512, 1024], output_tokens: [8, 16, 24, 32, 40], batch_sizes: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], repetitions: 10000}`;
    const { problems, exitCode } = check(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(
      "1000000 runs, more than the limit of 1000; make the sweep smaller, or say that you mean it: --max-runs 1000000",
    );
    expect(exitCode).toBe(2);
    expect(check(text, 1_000_000).problems).toEqual([]);
  });
});

test("the Python package's file is read as it is; what means nothing here warns, what is done anyway does not", () => {
  const { problems, warnings, exitCode } = check(`
experiment: {name: demo, description: d, version: "1.0", authors: [a], date_created: 2026-01-01, institution: i, paper_ref: p}
models:
  - {id: tiny, engine: demo, hf_repo: null, family: llama, params_billions: 1.1, quantisation: Q8_0, dtype: float16}
sweep: {context_lengths: [64, 128], batch_sizes: [1], output_tokens: [16], repetitions: 3, warmup_runs: 1}
prompts: null
collector:
  primary: perf_mem
  fallback: null
  perf_mem: {sample_period: 4000, ldlat_threshold: 20, events: [a], extra_flags: [-v], require_root: false}
  memray: {native_traces: true, follow_fork: true, file_size_limit_gb: 20}
  process_monitor: {poll_interval_ms: 50, metrics: [rss]}
telemetry: {capture: true, thermal_sampling_interval_s: 5, thermal_source: auto, invalidate_on_throttle: true, software_versions: true, hardware_topology: true, run_fio_benchmark: false}
labeller: {rules_file: config/models.yaml, unknown_policy: log_and_skip, min_sample_count: 10}
analyser: {metrics: [retention_duration], histogram_bins: 100, cdf_resolution: 1000, group_by: [region_type]}
output:
  base_dir: results/
  formats: {raw_traces: parquet, metrics: csv, figures: pdf, metadata: json}
  compression: zstd
  hf_dataset_push: false
  hf_repo: null
`);
  expect(problems).toEqual([]);
  expect(exitCode).toBe(0);
  expect(warnings.map((line) => line.split(": ")[1])).toEqual([
    "collector.perf_mem.extra_flags",
    "collector.perf_mem.require_root",
    "collector.memray.file_size_limit_gb",
    "collector.process_monitor.poll_interval_ms",
    "collector.process_monitor.metrics",
    "telemetry.thermal_sampling_interval_s",
    "labeller.rules_file",
    "labeller.unknown_policy",
    "labeller.min_sample_count",
    "analyser.metrics",
    "analyser.histogram_bins",
    "analyser.cdf_resolution",
    "analyser.group_by",
    "output.formats.figures",
  ]);
});

test("a problem is one line, whatever its key holds", () => {
  const { problems } = check('"a\\nb\\r\\e[2J": 1\n');
  expect(problems).toHaveLength(1);
  expect(problems[0]).toStartWith("1:1: a?b?");
  expect(problems[0]).not.toMatch(/[\r\n]/);
});
