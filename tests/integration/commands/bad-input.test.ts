/** Answers to bad input: the words given, the exit code, what the error says, and what it advises. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failureJsonSchema } from "../../../src/schema/run-json.ts";
import { jsonOf, QUICK, runCli } from "../run/cli.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-bad-input-"));
const place = (name: string): string => join(folder, name);
mkdirSync(place("folder"));
writeFileSync(place("empty"), "");
writeFileSync(place("text"), "hello\n");
writeFileSync(
  place("dense"),
  "run: 600s\nstrata:\n  - { class: weight, bytes: 1MiB, period: 20us, touches: 100, spacing: 100ns }\n",
);
Bun.spawnSync(["mkfifo", place("pipe")]);
writeFileSync(place("steering"), '"\\e]0;title\\a\\u202e": 1\n');
afterAll(() => rmSync(folder, { recursive: true }));

interface Answer {
  readonly args: readonly string[];
  readonly exit: number;
  readonly says: string;
  readonly advises: string;
}

const usage = (args: readonly string[], says: string, advises: string): Answer => ({ args, exit: 2, says, advises });

const ANSWERS: readonly Answer[] = [
  usage(["modl", "--help"], 'unknown command "modl"', "did you mean model?"),
  usage(["help", "modl"], 'unknown command "modl"', "did you mean model?"),
  usage(["nope", "--help"], 'unknown command "nope"', "use one of run, attach"),
  usage(["help", "run", "attach"], 'unexpected word "attach"', "leave it out"),
  usage(["version", "1"], 'unexpected word "1"', "leave it out"),
  usage(["import"], "FILE is missing", "mrm-trace import perf.data"),
  usage(["import", place("text"), "more"], 'unexpected word "more"', "leave it out"),
  usage(["import", place("nothing")], "there is no file", "give the path of a file"),
  usage(["import", place("folder")], "is no regular file", "give the path of a file"),
  usage(["import", place("pipe")], "is no regular file", "give the path of a file"),
  { args: ["import", place("empty")], exit: 4, says: "is empty", advises: "record it again" },
  { args: ["import", place("text")], exit: 4, says: "is of no known format", advises: "perf.data, memray capture" },
  usage(["analyse", "a", "b"], 'unexpected word "b"', "leave it out"),
  usage(["schema", "run", "b"], 'unexpected word "b"', "leave it out"),
  usage(["doctor", "x"], 'unexpected word "x"', "leave it out"),
  usage(["attach"], "PROCESS is missing", "mrm-trace attach llama-server"),
  usage(["attach", "-5"], 'unexpected word "-5"', "by its pid or name"),
  usage(["attach", "5", "6"], 'unexpected word "6"', "its children come with it"),
  { args: ["attach", "999999"], exit: 6, says: "there is no process 999999", advises: "pgrep" },
  usage(["monitor", "ollama"], 'unexpected word "ollama"', "mrm-trace monitor --name ollama"),
  { args: ["monitor", "--pid", "999999"], exit: 6, says: "there is no process 999999", advises: "pgrep" },
  { args: ["monitor", "--pid", "2"], exit: 6, says: "is a thread of the kernel", advises: "pgrep" },
  usage(["run", "sleep", "1"], 'unexpected word "sleep"', "mrm-trace run -- sleep"),
  usage(["run", "--budget", "0"], 'a number from 0.01 to 50 expected, but received "0"', "give --budget a number"),
  usage(["run", "--budget", "abc"], 'a number from 0.01 to 50 expected, but received "abc"', "give --budget a number"),
  usage(["run", "--seed", "-1"], "a whole number from 0 to 4294967295 expected", "seed of every random choice"),
  usage(["run", "--duration", "5y"], "a duration expected (write it as 500ms, 30s or 2h)", "change --duration"),
  usage(["run", "--params", "2m"], "one of 1m, 15m, 110m, 1.1b expected", "size of the demo's model"),
  usage(["run", "--model", place("nothing")], "there is no model", "mrm-trace model --out"),
  usage(["run", "--model", place("text")], "is not a whole GGUF", "the path of a whole GGUF"),
  usage(["run", "--context-tokens", "32"], "leaves no room to decode in a context of 32", "--prompt-tokens 30 or less"),
  usage(["run", "--params", "1m", "--", "true"], "--params is an option of the demo", "leave one of them out"),
  { args: ["run", "--", place("folder")], exit: 6, says: "is a folder", advises: "name the program in it" },
  { args: ["run", "--", place("nothing")], exit: 6, says: "command not found", advises: "check the spelling" },
  usage(
    ["run", "--source", "foo"],
    "one or more of auto, watch, pebs, ibs, clock expected",
    "give --source one or more of",
  ),
  usage(
    ["run", "--collector", "ebpf,foo"],
    "one or more of ebpf, perf-mem, memray, process expected",
    "give --collector",
  ),
  usage(["run", "--memray", "x"], "one or more of native, follow-fork, aggregate", "give --memray"),
  usage(["run", "--ebpf", "mem:0x1/8:rw"], "the address a multiple of its size", "change --ebpf"),
  usage(["run", "--record-command", "some"], "one of full, masked, none expected", "how command lines are kept"),
  usage(["run", "--perf", "foo", "--", "true"], '--perf: "foo" is none of mem', "freq=500"),
  usage(
    ["run", "--collector", "perf-mem", "--perf", "period=x", "--", "true"],
    "--perf: period is a whole number",
    "freq=500",
  ),
  usage(["run", "--output", "", "--", "true"], "--output: a text that is not empty expected", "folder for run"),
  usage(
    ["run", "--run-id", "x".repeat(129), "--", "true"],
    "--run-id: at most 80 letters, digits, dots, dashes and underscores expected",
    "change --run-id",
  ),
  usage(["run", "--resume"], "--resume was given without an experiment", "--config FILE"),
  usage(["run", "--config", place("nothing")], "no such file or directory", "name a YAML or JSON file"),
  { args: ["run", "--output", place("text"), "--", "true"], exit: 3, says: "not a directory", advises: "--output DIR" },
  {
    args: ["analyse", place("text")],
    exit: 4,
    says: "is no Parquet file: it has another beginning",
    advises: "trace.parquet",
  },
  {
    args: ["analyse", place("empty")],
    exit: 4,
    says: "is no Parquet file: it is empty",
    advises: "the folder of a run",
  },
  usage(["analyse", place("pipe")], "is no folder and no regular file", "the folder of a run"),
  usage(["analyse", place("nothing")], "no such run directory", "the folder that"),
  usage(["analyse", place("folder")], "it has no capture folder", "such as results/MODEL/RUN_ID"),
  usage(["verify", place("nothing")], "no such run directory", "the folder that"),
  usage(["verify", place("text")], "is no folder", "the folder that"),
  {
    args: ["verify", place("folder")],
    exit: 4,
    says: "has no manifest.json: it is no run, or one whose recording did not end",
    advises: "the folder that",
  },
  usage(["export", place("folder")], "no format was given", "add --format and one of arrow, csv"),
  usage(["export", "--format", "xls", place("folder")], "--format: one of arrow, csv", "what to make of it"),
  usage(["export", "--format", "hf", "--license", "a b", place("folder")], "CC-BY-4.0 expected, but received", "SPDX"),
  usage(["export", "--format", "csv", place("nothing")], "no such run directory", "the folder that"),
  usage(["export", "--format", "csv", place("text")], "is no folder", "the folder that"),
  usage(["export", "--format", "csv", place("folder")], "is no run", "such as results/MODEL/RUN_ID"),
  usage(["plan"], "no file was named", "mrm-trace plan FILE"),
  usage(["plan", place("text")], "a mapping of keys to values expected", "mrm-trace validate"),
  usage(["plan", place("pipe")], "not a regular file", "mrm-trace config default"),
  usage(["validate", place("folder")], "it is a folder", "mrm-trace config default"),
  usage(["simulate", place("text")], "a mapping of keys to values expected", "mrm-trace simulate"),
  usage(["simulate", place("dense")], "dense:3:5: strata[0]: stratum weight would have 300G accesses", "touches"),
  usage(["simulate", "-"], "standard input is not read: save it as a file first", "mrm-trace schema world"),
  usage(["simulate"], "WORLD is missing", "mrm-trace simulate world.yaml"),
  usage(["what-if"], "RUN_DIR is missing", "mrm-trace what-if results/MODEL/RUN_ID --device hbm"),
  usage(["what-if", place("folder")], "1 to 16 devices expected, but none was given", "--device dram"),
  usage(["what-if", place("folder"), "--device", "hmb"], 'there is no device "hmb"', "did you mean hbm?"),
  usage(["what-if", place("folder"), "--device", place("text")], "a mapping of keys to values", "--device"),
  usage(["what-if", place("folder"), "--device", place("pipe")], "not a regular file", "schema device"),
  usage(["what-if", place("nothing"), "--device", "hbm"], "no such run directory", "the folder that"),
  usage(["card"], "RUN_DIR is missing", "mrm-trace card results/MODEL/RUN_ID"),
  usage(["what-if", place("folder"), "--device", "hbm"], "is no run", "such as results/MODEL/RUN_ID"),
  usage(["show", place("folder")], "is no run", "such as results/MODEL/RUN_ID"),
  usage(["show", place("text")], "is no folder", "the folder that"),
  usage(["compare", place("folder"), place("folder")], "is no run", "such as results/MODEL/RUN_ID"),
  usage(["card", place("nothing")], "no such run directory", "the folder that"),
  usage(["check", place("folder")], "no budget was named", "--against budget.yaml"),
  usage(["check", place("folder"), "--against", place("nothing")], "cannot be read as a budget", "schema budget"),
  usage(["check", place("folder"), "--against", place("empty")], "is empty: it holds no budget", "schema budget"),
  usage(["check", place("folder"), "--against", place("text")], "a mapping of keys to values", "--against"),
  usage(["config", "shw"], "default or show expected", "mrm-trace config show"),
  usage(["schema", "nope"], 'there is no schema "nope"', "give one of config, run"),
  usage(["completions", "tcsh"], 'no completions for the shell "tcsh"', "mrm-trace completions bash"),
  usage(["model"], "no file to write was given", "add --out"),
  usage(["model", "--out", "/dev/full", "--force"], "is no regular file", "name a file with --out"),
  usage(["monitor", "--pid", "0"], "a whole number from 1 to 4194304 expected", "process to watch"),
  usage(["monitor"], "one of --name and --pid expected", "mrm-trace monitor --name"),
  usage(["compare", "a", "b"], 'no such run directory: "a"', "the folder that"),
  usage(["compare", "a"], 'unexpected word "a"', "name two run directories"),
];

/** Words of the library that checks options, and numbers that are none: nobody asked for either. */
const NOT_OURS = /Too small|Too big|Invalid (?:input|option)|NaN|undefined|ENOENT|expected one of "/;

describe("bad input is told what it is and what to do instead, and makes nothing", () => {
  for (const { args, exit, says, advises } of ANSWERS) {
    const words = args.map((word) => word.replace(`${folder}/`, "")).join(" ");
    test(`mrm-trace ${words}`, async () => {
      const own = args.includes("--") ? args.indexOf("--") : args.length;
      const asked = args[0] === "monitor" || args[0] === "completions" ? [] : ["--json"];
      const ended = await runCli([...args.slice(0, own), ...asked, ...args.slice(own)], {
        prefix: ["env", `--chdir=${folder}`],
      });
      expect(ended.exitCode).toBe(exit);
      if (asked.length > 0) {
        const { error } = failureJsonSchema.parse(jsonOf(ended));
        expect(error.message).toContain(says);
        expect(error.hint).toContain(advises);
      } else expect(ended.stdout).toBe("");
      expect(ended.stderr).toContain(says);
      expect(ended.stderr).toContain(`fix: `);
      expect(ended.stderr).not.toMatch(NOT_OURS);
      expect(readdirSync(folder).sort()).toEqual(["dense", "empty", "folder", "pipe", "steering", "text"]);
    });
  }
});

describe("what a person tries first is answered", () => {
  for (const [words, begins] of [
    [["help"], "How an LLM"],
    [["help", "run"], "Trace a command"],
    [["-V"], "mrm-trace "],
    [["version"], "mrm-trace "],
    [["-h"], "How an LLM"],
  ] as const) {
    test(`mrm-trace ${words.join(" ")}`, async () => {
      const ended = await runCli([...words]);
      expect([ended.exitCode, ended.stderr]).toEqual([0, ""]);
      expect(ended.stdout).toStartWith(begins);
    });
  }

  test("a key that would steer a terminal is shown without what does", async () => {
    const ended = await runCli(["plan", place("steering")]);
    expect(ended.exitCode).toBe(2);
    expect(ended.stderr).toContain("steering:1:1: ?]0;title??: unknown key");
    expect(ended.stderr.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  test("a run of which a file was replaced by a pipe is refused, and the pipe not waited for", async () => {
    const run = mkdtempSync(join(tmpdir(), "mrm-piped-run-"));
    expect(Bun.spawnSync(["mkfifo", join(run, "metadata.json")]).exitCode).toBe(0);
    for (const words of [["show"], ["card"], ["report"]]) {
      const ended = await runCli([...words, run]);
      expect([words, ended.exitCode, ended.stderr]).toMatchObject([
        words,
        4,
        expect.stringContaining("no regular file"),
      ]);
    }
    rmSync(run, { recursive: true });
  });

  test("a command that fails is told of without a table too", async () => {
    const ended = await runCli([
      "run",
      "--quiet",
      ...QUICK,
      "--watch-registers",
      "0",
      "--output",
      place("runs"),
      "--",
      "false",
    ]);
    rmSync(place("runs"), { recursive: true });
    expect([ended.exitCode, ended.stderr]).toEqual([6, "mrm-trace: the command ended with exit code 1\n"]);
  });
});
