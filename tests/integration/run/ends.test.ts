import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { areFactsComplete } from "../../../src/run-directory/facts.ts";
import { isPending, isRunning, waitUntil } from "../../fixtures/wait-until.ts";
import { CLI, endLeftRuns, jsonOf, outputFolder, QUICK, runCli, startCli } from "./cli.ts";

afterEach(endLeftRuns);

interface BpfProgram {
  readonly name?: string;
  readonly pids?: readonly { readonly pid: number }[];
}

const OURS = new Set(["enter_mmap", "process_exec", "fault_user", "fault_major", "engine_entry", "watch_trap"]);

/** Programs of ours that a process holds, or that nobody holds. */
function programsOf(pid: number): string[] {
  const shown = Bun.spawnSync(["bpftool", "prog", "show", "-j"]);
  const programs = JSON.parse(shown.stdout.toString()) as BpfProgram[];
  return programs
    .filter(({ name, pids }) => OURS.has(name ?? "") && (pids === undefined || pids.some((one) => one.pid === pid)))
    .map(({ name }) => name ?? "");
}

/** A run of a command that says its pid and then works until it is told to end. */
function startWorker(options: readonly string[] = []) {
  const script =
    "import os,sys,time\nprint('worker', os.getpid(), flush=True)\nb=bytearray(1<<20)\nwhile True:\n  b[::4096]=bytes(256)\n  time.sleep(0.001)\n";
  return startCli(["run", ...QUICK, "--output", outputFolder(), ...options, "--", "python3", "-c", script]);
}

describe("after any end of the tracer nothing of it is left", () => {
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    test(`${signal} ends the target and the run, keeps the results and returns ${code}`, async () => {
      const run = startCli([
        "run",
        "--json",
        ...QUICK,
        "--output",
        outputFolder(),
        "--",
        "sh",
        "-c",
        "echo started >&2; exec sleep 60",
      ]);
      await run.said("started");
      await waitUntil(() => programsOf(run.pid).length > 0);
      run.signal(signal);
      const ended = await run.ended;
      expect(ended.exitCode).toBe(code);
      const report = jsonOf(ended) as { run_dir: string; target: { signal: string } };
      expect(report.target.signal).toBe(signal);
      expect(existsSync(join(report.run_dir, "manifest.json"))).toBe(true);
      // The kernel frees programs a little after their last holder.
      expect(await waitUntil(() => programsOf(run.pid).length === 0)).toBe(true);
    });
  }

  test("SIGINT before anything was recorded ends with 130 and runs nothing", async () => {
    const output = outputFolder();
    const run = startCli([
      "run",
      "--baseline",
      "20s",
      "--verbose",
      "--output",
      output,
      "--",
      "touch",
      join(output, "ran"),
    ]);
    await run.said("run directory");
    run.signal("SIGINT");
    const ended = await run.ended;
    expect(ended.exitCode).toBe(130);
    expect(existsSync(join(output, "ran"))).toBe(false);
  });

  test("a Ctrl-C that ends the command while it is attached to is told as that", async () => {
    const output = outputFolder();
    const args = ["run", "--baseline", "10ms", "--verbose", "--output", output, "--", "sleep", "20"];
    const run = startCli(args, { prefix: ["setsid"] });
    await run.said("run directory");
    await Bun.sleep(250);
    // As a terminal sends it, to the command too.
    process.kill(-run.pid, "SIGINT");
    const ended = await run.ended;
    expect([ended.exitCode, ended.stderr]).toEqual([130, expect.not.stringContaining("before it was traced; start")]);
    expect(ended.stderr).not.toContain("something ended it");
  });

  test("SIGKILL leaves a user's command running, frees programs and registers, and its segments are readable", async () => {
    const run = startWorker(["--json"]);
    let text = "";
    run.ended.then((ended) => {
      text = ended.stderr;
    });
    await run.said("worker ");
    await waitUntil(() => programsOf(run.pid).length > 0);
    await Bun.sleep(1500);
    run.signal("SIGKILL");
    await run.said("worker ");
    const children = readdirSync("/proc").filter((name) => {
      if (!/^\d+$/.test(name)) return false;
      const command = Bun.spawnSync(["cat", `/proc/${name}/cmdline`]).stdout.toString();
      return command.includes("worker', os.getpid()") && !command.includes("cli.ts");
    });
    try {
      expect(children.length).toBe(1);
      expect(await waitUntil(() => programsOf(run.pid).length === 0)).toBe(true);
    } finally {
      for (const child of children) process.kill(Number(child), "SIGKILL");
    }
    await run.ended;
    expect(text).toContain("worker");
  });

  test("SIGKILL ends the demo engine", async () => {
    const run = startCli(["run", ...QUICK, "--params", "1m", "--seconds", "60", "--output", outputFolder()]);
    await run.said("demo: ");
    const demo = readdirSync("/proc").filter((name) => {
      if (!/^\d+$/.test(name)) return false;
      return (
        Bun.spawnSync(["cat", `/proc/${name}/cmdline`])
          .stdout.toString()
          .includes("demo/runner.ts") && parentOf(name) === run.pid
      );
    });
    expect(demo.length).toBeGreaterThan(0);
    run.signal("SIGKILL");
    expect(await waitUntil(() => demo.every((pid) => !isRunning(Number(pid))))).toBe(true);
    await run.ended;
  });
});

function parentOf(pid: string): number {
  const stat = Bun.spawnSync(["cat", `/proc/${pid}/stat`]).stdout.toString();
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

test("a second signal ends the tracer at once, and it says where the recording is and what makes results of it", async () => {
  const output = outputFolder();
  const run = startCli([
    "run",
    ...QUICK,
    "--output",
    output,
    "--run-id",
    "cut",
    "--",
    "sh",
    "-c",
    "trap '' INT TERM; echo deaf >&2; exec sleep 3600",
  ]);
  await run.said("deaf");
  await Bun.sleep(300);
  const { stdout } = Bun.spawnSync(["pgrep", "-P", String(run.pid), "sleep"]);
  const deaf = Number(stdout.toString());
  run.signal("SIGTERM");
  // The same signal twice would be taken as one.
  expect(await waitUntil(() => !isPending(run.pid, 15))).toBe(true);
  run.signal("SIGTERM");
  expect(await run.exited).toBe(143);
  // An end in order would have waited for it.
  expect(isRunning(deaf)).toBe(true);
  process.kill(deaf, "SIGKILL");
  const runDir = join(output, "sh", "cut");
  const { stderr } = await run.ended;
  expect(stderr).toContain(`what was recorded so far is kept in ${runDir}\n  fix: mrm-trace analyse ${runDir}\n`);
  const analysed = await runCli(["analyse", "--json", runDir]);
  expect([analysed.exitCode, jsonOf(analysed)]).toEqual([0, expect.objectContaining({ stopped_by: "killed" })]);
});

/** Runs words in a terminal of their own, which goes when they have said "ready": prints how the program ended. */
const IN_TERMINAL = `import os,pty,sys
pid,fd=pty.fork()
if pid==0: os.execvp(sys.argv[1],sys.argv[1:])
text=b""
while b"ready" not in text: text+=os.read(fd,4096)
os.close(fd)
print(os.waitstatus_to_exitcode(os.waitpid(pid,0)[1]))`;

const metadataOf = (runDir: string) => JSON.parse(readFileSync(join(runDir, "metadata.json"), "utf8"));

describe("a terminal that is lost", () => {
  test("ends a run in order: the command has its SIGHUP, and the results are there", async () => {
    const output = outputFolder();
    const command = ["sh", "-c", "echo ready; exec sleep 60"];
    const argv = [process.execPath, CLI, "run", ...QUICK, "--output", output, "--run-id", "one", "--", ...command];
    const { stdout } = Bun.spawnSync(["python3", "-c", IN_TERMINAL, ...argv]);
    expect(stdout.toString()).toBe("129\n");
    const metadata = metadataOf(join(output, "sh", "one"));
    expect(metadata).toMatchObject({ stopped_by: "hangup", target: { exit_code: null, signal: "SIGHUP" } });
    // What makes such a run again does not say where this one lies.
    expect(metadata.repeated_by).toEqual([
      "mrm-trace",
      "run",
      ...QUICK.filter((word) => word !== "--quiet"),
      "--",
      ...command,
    ]);
    expect(existsSync(join(output, "sh", "one", "manifest.json"))).toBe(true);
  });

  test("ends an attached run in order, and its process runs on", async () => {
    const output = outputFolder();
    const target = Bun.spawn(["sleep", "60"]);
    try {
      const words = ["attach", String(target.pid), ...QUICK, "--verbose", "--output", output, "--run-id", "one"];
      // The last line before it records says so; the terminal waits for a word of ours.
      const script = IN_TERMINAL.replace('b"ready"', 'b"recording"');
      const { stdout } = Bun.spawnSync(["python3", "-c", script, process.execPath, CLI, ...words]);
      expect(stdout.toString()).toBe("129\n");
      const metadata = metadataOf(join(output, "sleep", "one"));
      expect(metadata).toMatchObject({ stopped_by: "hangup" });
      expect(metadata.repeated_by.slice(0, 3)).toEqual(["mrm-trace", "attach", String(target.pid)]);
      expect(isRunning(target.pid)).toBe(true);
    } finally {
      target.kill("SIGKILL");
    }
  });

  test("is nothing to a run that was started to outlive it", async () => {
    const argv = ["nohup", process.execPath, CLI, "run", "--json", ...QUICK, "--output", outputFolder()];
    const child = Bun.spawn([...argv, "--", "sh", "-c", "echo ready >&2; sleep 0.3"], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const reader = child.stderr.getReader();
    while (!new TextDecoder().decode((await reader.read()).value).includes("ready"));
    child.kill("SIGHUP");
    const report = JSON.parse(await new Response(child.stdout).text());
    expect([await child.exited, report.stopped_by]).toEqual([0, "target_ended"]);
  });
});

test("a first Ctrl-C while results are derived ends that, and what was recorded is derived later", async () => {
  const output = outputFolder();
  const toucher =
    "import mmap\nfor i in range(6):\n m=mmap.mmap(-1,1<<26)\n for i in range(0,1<<26,4096): m[i]=1\n m.close()\n";
  const options = ["--json", ...QUICK, "--output", output, "--run-id", "one"];
  const run = startCli(["run", ...options, "--", "python3", "-c", toucher]);
  const folder = (): string => join(output, readdirSync(output)[0] ?? "", "one");
  expect(await waitUntil(() => existsSync(folder()) && areFactsComplete(folder()))).toBe(true);
  run.signal("SIGINT");
  const ended = await run.ended;
  expect(ended.exitCode).toBe(130);
  const { error, run_dir } = jsonOf(ended) as { error: { code: string; hint: string }; run_dir: string };
  expect(error).toMatchObject({
    code: "interrupted",
    hint: `derive them from what was recorded, which is whole: mrm-trace analyse ${run_dir}`,
  });
  expect(existsSync(join(run_dir, "manifest.json"))).toBe(false);
  const analysed = await runCli(["analyse", "--json", run_dir]);
  expect(analysed.exitCode).toBe(0);
  expect(jsonOf(analysed)).toMatchObject({ stopped_by: "target_ended", target: { exit_code: 0 } });
});

test("a server that a script has started ends with the run, and one in a group of its own is told to run on", async () => {
  // A shell that ends at SIGTERM leaves what it waits for.
  const script = "sleep 300 & echo inner $! >&2; setsid sleep 300 > /dev/null 2>&1 & echo outer $! >&2; wait";
  const options = [...QUICK, "--duration", "2s", "--json", "--output", outputFolder()];
  const run = startCli(["run", ...options, "--", "sh", "-c", script]);
  const ended = await run.ended;
  const pidOf = (name: string): number => Number(new RegExp(`${name} ([0-9]+)`).exec(ended.stderr)?.[1]);
  const [inner, outer] = [pidOf("inner"), pidOf("outer")];
  expect(isRunning(inner)).toBe(false);
  expect(isRunning(outer)).toBe(true);
  process.kill(outer, "SIGKILL");
  expect(ended.stderr).toContain(`a process of the command runs on: pid ${outer}`);
  expect(jsonOf(ended)).toMatchObject({
    stopped_by: "duration",
    warnings: expect.arrayContaining([`a process of the command runs on: pid ${outer}`]),
  });
}, 60_000);
