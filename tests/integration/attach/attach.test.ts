import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LedgerPlace } from "../../../src/schema/ledger.ts";
import { rowsAt } from "../../fixtures/ledger.ts";
import { lives, startLiveTree } from "../../fixtures/live-tree.ts";
import { registersFree } from "../../fixtures/registers-free.ts";
import { isCaught, isPending, waitUntil } from "../../fixtures/wait-until.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli, startCli } from "../run/cli.ts";

const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true }));
afterEach(endLeftRuns);

const ATTACH = ["--json", ...QUICK, "--output", output];

interface Report {
  readonly run_dir: string;
  readonly model_id: string;
  readonly warnings: readonly string[];
  readonly target: {
    readonly command: readonly string[];
    readonly pid: number;
    readonly pids: readonly number[];
    readonly exit_code: number | null;
    readonly signal: string | null;
    readonly wall_s: number;
  };
}

const reportOf = (ended: Parameters<typeof jsonOf>[0]) => jsonOf(ended) as unknown as Report;

function metadataOf({ run_dir }: Report): Record<string, unknown> {
  return JSON.parse(readFileSync(join(run_dir, "metadata.json"), "utf8"));
}

/** Ids of the BPF programs that a process holds. */
function programsOf(pid: number): Set<number> {
  const folder = `/proc/${pid}/fdinfo`;
  const texts = readdirSync(folder).map((fd) => {
    try {
      return readFileSync(join(folder, fd), "utf8");
    } catch {
      // Closed while we looked: watchpoints come and go.
      return "";
    }
  });
  return new Set(texts.flatMap((text) => [...text.matchAll(/^prog_id:\s+(\d+)$/gm)].map(([, id]) => Number(id))));
}

/** Of these programs, those that the kernel still has. */
function loaded(programs: ReadonlySet<number>): number[] {
  const shown = JSON.parse(Bun.spawnSync(["bpftool", "prog", "show", "-j"]).stdout.toString()) as { id: number }[];
  return shown.map(({ id }) => id).filter((id) => programs.has(id));
}

/** Starts the tracer on a process, and resolves when it records. */
async function startAttach(pid: number, options: readonly string[] = []) {
  const run = startCli(["attach", String(pid), ...ATTACH, "--verbose", ...options]);
  await run.said("recording");
  await Bun.sleep(300);
  return { run, programs: programsOf(run.pid) };
}

/** What must hold of a target that a tracer has left: it works, unwatched, and nobody but its parent ever ended it. */
async function expectUntouched(tree: Awaited<ReturnType<typeof startLiveTree>>): Promise<void> {
  expect([lives(tree.pid), lives(tree.childPid)]).toEqual([true, true]);
  const status = readFileSync(`/proc/${tree.pid}/status`, "utf8");
  expect(/^TracerPid:\t(\d+)$/m.exec(status)?.[1]).toBe("0");
  expect(await tree.again()).toHaveLength(6);
  expect(await tree.end()).toBe(7);
}

describe("a process that runs", () => {
  test("is traced for --duration, which ends well, and goes on as it was", async () => {
    await using tree = await startLiveTree();
    const { run, programs } = await startAttach(tree.pid, ["--duration", "1500ms"]);
    expect(programs.size).toBeGreaterThan(10);
    const ended = await run.ended;
    expect(ended.exitCode).toBe(0);
    const report = reportOf(ended);
    expect(report.target).toMatchObject({ pid: tree.pid, exit_code: null, signal: null });
    expect(report.target.command.slice(1)).toEqual([tree.file]);
    expect(report.target.pids.toSorted()).toEqual([tree.pid, tree.childPid].toSorted());
    expect(report.target.wall_s).toBeGreaterThan(1.4);
    expect(report.model_id).toBe("live-tree");
    expect(report.warnings.filter((text) => text.includes("told to"))).toEqual([]);
    expect(metadataOf(report)).toMatchObject({ attached: true, stopped_by: "duration" });
    expect(existsSync(join(report.run_dir, "manifest.json"))).toBe(true);
    await expectUntouched(tree);
  });

  test("is traced by the options of a file, whose duration a flag overrides", async () => {
    await using tree = await startLiveTree();
    const file = join(output, "options.yaml");
    writeFileSync(file, "run:\n  duration: 300s\n  collector: process\n");
    const { run, programs } = await startAttach(tree.pid, ["--config", file, "--duration", "900ms"]);
    expect(programs.size).toBe(0);
    const ended = await run.ended;
    expect(ended.exitCode).toBe(0);
    const report = reportOf(ended);
    expect(metadataOf(report)).toMatchObject({ stopped_by: "duration" });
    await expectUntouched(tree);
  });

  test("may end by itself: that ends the run well, and the report has its exit code", async () => {
    await using tree = await startLiveTree();
    const { run } = await startAttach(tree.pid);
    expect(await tree.end()).toBe(7);
    const ended = await run.ended;
    expect(ended.exitCode).toBe(0);
    const report = reportOf(ended);
    expect(report.target).toMatchObject({ exit_code: 7, signal: null });
    expect(metadataOf(report)).toMatchObject({ stopped_by: "target_ended" });
  });

  test("may be killed: the report names the signal", async () => {
    await using tree = await startLiveTree();
    const { run } = await startAttach(tree.pid);
    process.kill(tree.childPid, "SIGTERM");
    process.kill(tree.pid, "SIGKILL");
    const ended = await run.ended;
    expect(ended.exitCode).toBe(0);
    const report = reportOf(ended);
    expect(report.target).toMatchObject({ exit_code: null, signal: "SIGKILL" });
    expect(metadataOf(report)).toMatchObject({ stopped_by: "target_ended" });
  });

  for (const [signal, code, reason] of [
    ["SIGINT", 130, "interrupted"],
    ["SIGTERM", 143, "terminated"],
  ] as const) {
    test(`hears nothing of a ${signal} to the tracer, which ends with ${code} and keeps what it measured`, async () => {
      await using tree = await startLiveTree();
      const { run, programs } = await startAttach(tree.pid);
      run.signal(signal);
      const ended = await run.ended;
      expect(ended.exitCode).toBe(code);
      expect(ended.stderr).toContain(`${signal}: ending in order; a second signal ends the tracer at once`);
      const report = reportOf(ended);
      expect(metadataOf(report)).toMatchObject({ stopped_by: reason });
      expect(existsSync(join(report.run_dir, "metrics.parquet"))).toBe(true);
      expect(await waitUntil(() => loaded(programs).length === 0)).toBe(true);
      await expectUntouched(tree);
    });
  }

  test("goes on when a second signal ends the tracer at once", async () => {
    await using tree = await startLiveTree();
    const { run, programs } = await startAttach(tree.pid, ["--run-id", "ended-at-once"]);
    run.signal("SIGTERM");
    // The second must come after the first, and while that is still being worked on.
    expect(await waitUntil(() => !isPending(run.pid, 15))).toBe(true);
    run.signal("SIGINT");
    expect(await run.exited).toBe(130);
    // An end in order would label and analyse what it recorded, and print a report.
    expect((await run.ended).stdout).toBe("");
    const written = readdirSync(output, { recursive: true }).map(String);
    expect(written.filter((path) => path.includes("ended-at-once")).length).toBeGreaterThan(0);
    expect(written.filter((path) => path.includes("ended-at-once") && path.endsWith("metrics.parquet"))).toEqual([]);
    expect(await waitUntil(() => loaded(programs).length === 0)).toBe(true);
    await expectUntouched(tree);
  });

  test("goes on when the tracer is killed, which leaves no program and no register behind", async () => {
    await using tree = await startLiveTree();
    await registersFree();
    const { run, programs } = await startAttach(tree.pid);
    expect(loaded(programs).length).toBeGreaterThan(10);
    run.signal("SIGKILL");
    expect(await run.exited).not.toBe(0);
    expect(await waitUntil(() => loaded(programs).length === 0)).toBe(true);
    await registersFree();
    await expectUntouched(tree);
  });

  test("is recorded by perf where that is asked for, with its child", async () => {
    await using tree = await startLiveTree();
    const options = ["--collector", "perf-mem", "--perf", "page-faults"];
    const { run } = await startAttach(tree.pid, options);
    const areas = await tree.again();
    run.signal("SIGINT");
    const ended = await run.ended;
    expect(ended.exitCode).toBe(130);
    const report = reportOf(ended);
    expect(report.warnings).toEqual([]);
    expect(report.target.pids).toEqual(expect.arrayContaining([tree.pid, tree.childPid]));
    const ledger = (jsonOf(ended) as { ledger: (LedgerPlace & { kept: string })[] }).ledger;
    const faults = Number(rowsAt(ledger, { stream: "fault", stage: "decode", way: "perf" })[0]?.kept);
    expect(faults).toBeGreaterThanOrEqual(areas.reduce((sum, { pages }) => sum + pages, 0));
    await expectUntouched(tree);
  });
});

describe("what cannot be attached to is refused in one sentence", () => {
  const refusal = async (...args: string[]) => {
    const ended = await runCli(["attach", ...args, "--json"]);
    const { error } = jsonOf(ended) as { error: { message: string; hint: string } };
    return { code: ended.exitCode, message: error.message, hint: error.hint };
  };

  test("no such pid, no such name, no word at all, and one too many", async () => {
    expect(await refusal("4194303")).toMatchObject({ code: 6, message: "there is no process 4194303" });
    expect(await refusal("nobody-is-named-so")).toMatchObject({
      code: 6,
      message: 'no process is named "nobody-is-named-so"',
    });
    expect((await refusal()).code).toBe(2);
    expect(await refusal("1", "2")).toMatchObject({ code: 2, message: 'unexpected word "2"' });
  });

  test("a thread of the kernel, and an ancestor of the tracer", async () => {
    expect(await refusal("2")).toMatchObject({ code: 6, message: expect.stringContaining("thread of the kernel") });
    expect(await refusal(String(process.pid))).toMatchObject({
      code: 2,
      message: `process ${process.pid} is an ancestor of the tracer, which would trace itself in its tree`,
    });
  });

  test("a name that several processes have, with their pids and command lines", async () => {
    await using one = await startLiveTree("live-many");
    await using two = await startLiveTree("live-many");
    const { code, message, hint } = await refusal("live-many");
    expect(code).toBe(2);
    expect(message).toContain('4 processes are named "live-many": ');
    for (const { pid, childPid, file } of [one, two]) {
      expect(message).toContain(`; ${childPid} `.slice(2));
      expect(message).toContain(`${pid} `);
      expect(message).toContain(file.slice(0, 20));
    }
    expect(hint).toContain("mrm-trace attach ");
  });

  test("memray, which has to start the program", async () => {
    await using tree = await startLiveTree();
    const { code, message, hint } = await refusal(String(tree.pid), "--collector", "memray");
    expect([code, message]).toEqual([3, `memray has to start the program, and process ${tree.pid} runs already`]);
    expect(hint).toContain("mrm-trace run --collector memray");
  });

  test("a file of experiments, which start what they run", async () => {
    const file = join(output, "experiment.yaml");
    writeFileSync(file, "experiment: {name: sizes}\nmodels:\n  - {id: small, engine: demo}\n");
    const { code, message, hint } = await refusal("1", "--config", file);
    expect([code, message]).toEqual([2, `${file} holds experiments, which start what they run`]);
    expect(hint).toContain(`mrm-trace run --config ${file}`);
  });

  test("options that belong to a launch", async () => {
    expect(await refusal("1", "--memray", "native")).toMatchObject({ code: 2, message: "unknown option --memray" });
    expect(await refusal("1", "--tokens", "5")).toMatchObject({ code: 2, message: "unknown option --tokens" });
  });
});

test("a name means the process from which all others of that name descend", async () => {
  await using tree = await startLiveTree("live-by-name");
  const ended = await runCli(["attach", "live-by-name", ...ATTACH, "--duration", "300ms"]);
  expect(ended.exitCode).toBe(0);
  expect(reportOf(ended).target.pid).toBe(tree.pid);
});

/** Folders of runs in the folder for results. */
const runsIn = (folder: string): string[] =>
  readdirSync(folder).flatMap((model) => readdirSync(join(folder, model)).map((run) => join(model, run)));

describe("a signal before anything was recorded ends with its code and a sentence, leaves no run and the target alone", () => {
  test.each([
    ["SIGINT", 2, 130],
    ["SIGTERM", 15, 143],
  ] as const)("%s while the tracer is loaded", async (signal, number, code) => {
    await using tree = await startLiveTree();
    const folder = outputFolder();
    const run = startCli(["attach", String(tree.pid), "--output", folder]);
    expect(await waitUntil(() => isCaught(run.pid, number))).toBe(true);
    run.signal(signal);
    const { exitCode, stdout, stderr } = await run.ended;
    expect([exitCode, stdout, runsIn(folder)]).toEqual([code, "", []]);
    expect(stderr).toContain(`${signal} came before anything was done`);
    await expectUntouched(tree);
  });

  test("SIGINT while it looks at the machine", async () => {
    await using tree = await startLiveTree();
    const folder = outputFolder();
    const run = startCli(["attach", String(tree.pid), "--baseline", "20s", "--verbose", "--output", folder]);
    await run.said("run directory");
    run.signal("SIGINT");
    const { exitCode, stderr } = await run.ended;
    expect([exitCode, runsIn(folder)]).toEqual([130, []]);
    expect(stderr).toContain("SIGINT came before the target was traced: nothing was recorded");
    await expectUntouched(tree);
  });
});

test("a process that ends before it is traced is told to have ended, and leaves no run", async () => {
  await using tree = await startLiveTree();
  const folder = outputFolder();
  const run = startCli(["attach", String(tree.pid), "--baseline", "2s", "--verbose", "--output", folder]);
  await run.said("run directory");
  await tree.end();
  const { exitCode, stdout, stderr } = await run.ended;
  expect([exitCode, stdout, runsIn(folder)]).toEqual([6, "", []]);
  expect(stderr).toContain(`process ${tree.pid} ended before it could be traced`);
});
