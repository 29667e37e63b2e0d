/** A profile for Firefox, read back by the command line of its profiler. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { progressTo } from "../../../src/api/progress.ts";
import { exportRun } from "../../../src/pipelines/export.ts";
import { writeExportedRun } from "../../fixtures/exported-run.ts";

const PROFILER = Bun.resolveSync("@firefox-devtools/profiler-cli/package.json", import.meta.dir).replace(
  "package.json",
  "dist/profiler-cli.js",
);
const SESSION = "export";
const POLL_MS = 100;

let runDir = "";
let folder = "";
let daemon: Bun.Subprocess | null = null;
const env = () => ({ ...process.env, PROFILER_CLI_SESSION_DIR: folder, PROFILER_CLI_NO_SYMBOLICATE: "1" });

/** What the profiler answers; null while it loads. */
function asked(...words: string[]): Record<string, unknown> | null {
  const command = [process.execPath, "--bun", PROFILER, ...words, "--session", SESSION, "--json"];
  const child = Bun.spawnSync(command, { env: env(), stderr: "ignore" });
  return child.exitCode === 0 ? (JSON.parse(child.stdout.toString()) as Record<string, unknown>) : null;
}

beforeAll(async () => {
  runDir = await writeExportedRun();
  folder = mkdtempSync(join(tmpdir(), "mrm-firefox-"));
  const out = join(folder, "run.json.gz");
  const choices = { table: undefined, value: undefined, license: undefined };
  const { signal } = new AbortController();
  const request = { runDir, format: "firefox-profiler", out, force: false, progress: progressTo(undefined) } as const;
  const { left_out } = await exportRun({ ...request, choices, signal });
  expect(left_out).toContain("when it happened: the tracks are sums over the whole run");
  daemon = Bun.spawn([process.execPath, "--bun", PROFILER, "--daemon", out, "--session", SESSION], {
    env: env(),
    stdio: ["ignore", "ignore", "ignore"],
  });
  // However long it takes to load: the test has a limit of its own. A question before the session is
  // written down removes the daemon's socket as one that was left behind, and nobody finds it again.
  const session = join(folder, `${SESSION}.json`);
  const ready = () => existsSync(session) && asked("thread", "list") !== null;
  while (!ready() && daemon.exitCode === null) await Bun.sleep(POLL_MS);
}, 120_000);
afterAll(async () => {
  daemon?.kill();
  await daemon?.exited;
  for (const path of [runDir, folder]) rmSync(path, { recursive: true, force: true });
});

interface Thread {
  readonly threadHandle: string;
  readonly name: string;
  readonly processName: string;
}
interface Answer {
  readonly weightType: string;
  readonly functions: readonly { readonly name: string; readonly selfSamples: number; readonly totalSamples: number }[];
}

test("a profile for Firefox has a track for each value of a process, with its sums by function", () => {
  const threads = asked("thread", "list")?.threads as readonly Thread[];
  expect(threads.map(({ name, processName }) => [processName, name])).toEqual([
    ["pid 77", "bytes that were allocated"],
    ["pid 77", "allocations"],
    ["pid 77", "bytes that were alive at the end"],
    ["pid 77", "allocations that were alive at the end"],
    ["pid 77", "page faults taken"],
    ["pid 77", "of them those that waited for a disk"],
    ["pid 77", "loads and stores, estimated from samples"],
  ]);
  const sums = (name: string) => {
    const handle = threads.find((thread) => thread.name === name)?.threadHandle ?? "";
    const answer = asked("thread", "functions", "--thread", handle) as unknown as Answer;
    const rows = answer.functions.map(
      ({ name, selfSamples, totalSamples }) => `${name} ${selfSamples} ${totalSamples}`,
    );
    return [answer.weightType, ...rows.sort()];
  };
  expect(sums("page faults taken")).toEqual(["samples", "[kernel] 1 1", "qsort 2 2"]);
  expect(sums("bytes that were allocated")).toEqual([
    "bytes",
    "<module> 0 1024",
    "[libfoo.so]+0x40 0 4096",
    "load 0 1024",
    "malloc 1024 1024",
    "mmap 4096 4096",
  ]);
  expect(sums("loads and stores, estimated from samples").slice(0, 2)).toEqual(["samples", "[kv_cache] 0 10"]);
});
