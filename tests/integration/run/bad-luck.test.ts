import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readStream } from "../../fixtures/parquet-by-wasm.ts";
import { withMounts } from "../../fixtures/with-mounts.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli, startCli } from "./cli.ts";

afterEach(endLeftRuns);

interface Failure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly hint: string;
    readonly exit_code: number;
  };
}

async function failureOf(
  args: readonly string[],
  prefix: readonly string[] = [],
): Promise<Failure["error"] & { stderr: string }> {
  const ended = await runCli(args, { prefix });
  const { error } = jsonOf(ended) as unknown as Failure;
  expect(ended.exitCode).toBe(error.exit_code);
  expect(ended.stderr).not.toContain("    at ");
  return { ...error, stderr: ended.stderr };
}

const RUN = ["run", "--json", ...QUICK];

describe("what cannot work ends with one message, the fix and its exit code", () => {
  test("a command that is not found", async () => {
    const error = await failureOf([...RUN, "--output", outputFolder(), "--", "no-such-command"]);
    expect(error).toMatchObject({ code: "target", exit_code: 6 });
    expect(error.message).toContain("no-such-command");
  });

  test("a file that is not executable", async () => {
    const file = join(outputFolder(), "plain");
    writeFileSync(file, "", { mode: 0o644 });
    const error = await failureOf([...RUN, "--output", outputFolder(), "--", file]);
    expect(error).toMatchObject({ code: "target", exit_code: 6, hint: `chmod +x ${file}` });
  });

  test("no root", async () => {
    const nobody = ["setpriv", "--reuid=nobody", "--clear-groups", "--"];
    const error = await failureOf([...RUN, "--", "true"], nobody);
    expect(error).toMatchObject({
      code: "environment",
      exit_code: 3,
      hint: expect.stringMatching(/^sudo mrm-trace run;/),
    });
  });

  test("a kernel without BTF", async () => {
    const error = await failureOf([...RUN, "--", "true"], withMounts("mount -t tmpfs none /sys/kernel/btf"));
    expect(error).toMatchObject({ code: "environment", exit_code: 3 });
    expect(error.message).toContain("/sys/kernel/btf/vmlinux is missing");
  });

  test("libbpf that cannot be loaded", async () => {
    const hide = "mount --bind /dev/null $(readlink -f /usr/lib/*/libbpf.so.1)";
    const error = await failureOf([...RUN, "--output", outputFolder(), "--", "true"], withMounts(hide));
    expect(error).toMatchObject({ code: "environment", exit_code: 3 });
    expect(error.message).toContain("libbpf.so.1");
    expect(error.hint).toContain("apt-get install libbpf1");
  });

  test("an output folder that cannot be made", async () => {
    const error = await failureOf([...RUN, "--output", "/proc/nowhere", "--", "true"]);
    expect(error).toMatchObject({ code: "environment", exit_code: 3 });
    expect(error.hint).toContain("--output");
  });

  test("a run that is there already, unless --force is given", async () => {
    const args = [...RUN, "--output", outputFolder(), "--run-id", "same", "--", "true"];
    expect((await runCli(args)).exitCode).toBe(0);
    const error = await failureOf(args);
    expect(error).toMatchObject({ code: "usage", exit_code: 2 });
    expect(error.hint).toContain("--force");
    expect((await runCli(["run", "--force", ...args.slice(1)])).exitCode).toBe(0);
  });

  test("a run that is still recorded, to analyse or to replace; once its tracer was killed it is analysed", async () => {
    const output = outputFolder();
    const named = ["--output", output, "--run-id", "one"];
    const run = startCli(["run", ...QUICK, ...named, "--", "sh", "-c", "echo started >&2; exec sleep 5"]);
    await run.said("started");
    const path = join(output, "sh", "one");
    for (const args of [
      ["analyse", "--json", path],
      [...RUN, "--force", ...named, "--", "sh", "-c", "true"],
    ]) {
      const error = await failureOf(args);
      expect(error).toMatchObject({ code: "usage", exit_code: 2 });
      expect(error.message).toBe(`another mrm-trace is at work in ${path}: process ${run.pid}`);
    }
    run.signal("SIGKILL");
    await run.exited;
    const analysed = await runCli(["analyse", "--json", path]);
    expect(analysed.exitCode).toBe(0);
    expect(jsonOf(analysed).run_dir).toBe(path);
    await run.ended;
  });

  test("a run id that would leave the output folder", async () => {
    expect(await failureOf([...RUN, "--run-id", "../x", "--", "true"])).toMatchObject({ code: "usage", exit_code: 2 });
  });

  for (const args of [
    ["--budgt", "1"],
    ["--budget", "99"],
    ["--duration", "soon"],
    ["--seed", "x"],
    ["--color", "red"],
  ]) {
    test(`the option ${args.join(" ")}`, async () => {
      const error = await failureOf(["run", "--json", ...args, "--", "true"]);
      expect(error).toMatchObject({ code: "usage", exit_code: 2 });
      expect(error.message + error.hint).toContain(args[0]?.slice(2, 6) ?? "");
    });
  }
});

describe("a target that ends badly leaves what was measured", () => {
  test("at once, with its code", async () => {
    const ended = await runCli([...RUN, "--output", outputFolder(), "--", "sh", "-c", "exit 7"]);
    expect(ended.exitCode).toBe(6);
    expect(jsonOf(ended)).toMatchObject({ target: { exit_code: 7, signal: null } });
  });

  for (const name of ["SEGV", "KILL"]) {
    test(`by SIG${name}`, async () => {
      const ended = await runCli([...RUN, "--output", outputFolder(), "--", "sh", "-c", `sleep 0.3; kill -${name} $$`]);
      expect(ended.exitCode).toBe(6);
      const report = jsonOf(ended) as { target: Record<string, unknown>; run_dir: string };
      expect(report.target).toMatchObject({ exit_code: null, signal: `SIG${name}` });
      expect(existsSync(join(report.run_dir, "metrics.parquet"))).toBe(true);
    });
  }

  test("a command that daemonises is followed until its tree is empty", async () => {
    const ended = await runCli([...RUN, "--output", outputFolder(), "--", "sh", "-c", "(sleep 1; true) & exit 0"]);
    expect(ended.exitCode).toBe(0);
    expect((jsonOf(ended) as { target: { wall_s: number } }).target.wall_s).toBeGreaterThan(0.9);
  });

  test("a command that left a daemon is told once to have ended, with whom is waited for and what ends that", async () => {
    const script = "setsid sleep 4 >/dev/null 2>&1 & echo daemon $! >&2; exit 3";
    const ended = await runCli(["run", ...QUICK, "--output", outputFolder(), "--", "sh", "-c", script]);
    expect(ended.exitCode).toBe(6);
    const [, pid] = /daemon (\d+)/.exec(ended.stderr) ?? [];
    const told = `the command ended with exit code 3; a process of it runs on, and the recording waits for that: pid ${pid}; `;
    expect(ended.stderr.split(told)).toEqual([
      expect.anything(),
      expect.stringMatching(/^Ctrl-C ends that within 10 s/),
    ]);
  });

  test("a time limit ends it with 124", async () => {
    const ended = await runCli([...RUN, "--duration", "500ms", "--output", outputFolder(), "--", "sleep", "60"]);
    expect(ended.exitCode).toBe(124);
    expect(jsonOf(ended)).toMatchObject({ target: { signal: "SIGTERM" } });
  });
});

/** Touches pages at random, which fills files fast, for so long; then it ends with 5. */
const toucher = (seconds: number): string =>
  `import mmap,random,sys,time
end=time.monotonic()+${seconds}
while time.monotonic()<end:
  m=mmap.mmap(-1,1<<26)
  for i in random.sample(range(0,1<<26,4096),16000): m[i]=1
sys.exit(5)`;

test("a full disk stops the recording and not the command, and says so however little room there is", async () => {
  const folder = outputFolder();
  const full = join(folder, "full");
  mkdirSync(full);
  // The facts of the run are read in there: nobody sees it from outside.
  const script =
    'mount -t tmpfs -o size=8m none "$0" && "$@"; code=$?; cat "$0"/sh/one/capture/facts.json >&2; exit $code';
  const prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, full];
  const filler = `dd if=/dev/zero of=${full}/filler bs=1k 2>/dev/null`;
  const command = `python3 -c '${toucher(1)}'; ${filler}; python3 -c '${toucher(4)}'`;
  const ended = await runCli([...RUN, "--output", full, "--run-id", "one", "--", "sh", "-c", command], { prefix });
  expect(ended.exitCode).toBe(3);
  const { error, run_dir } = jsonOf(ended) as unknown as Failure & { run_dir: string };
  expect(error).toMatchObject({ code: "environment", hint: expect.stringContaining("free some space") });
  expect(error.message).toContain("no space left on device");
  expect(run_dir).toContain(full);
  expect(ended.stderr).toMatch(/recording stopped after .*no space left on device.*; the command runs on/);
  const facts = JSON.parse(ended.stderr.slice(ended.stderr.indexOf("{\n")));
  expect(facts).toMatchObject({ stopped_by: "disk", target: { exit_code: 5 } });
  expect(facts.details.rows_after_end).toBeGreaterThan(0);
});

test("a size limit stops the recording and not the command, whose exit code is passed on", async () => {
  const ended = await runCli([
    ...RUN,
    ...["--max-size", "200kB", "--output", outputFolder(), "--", "python3", "-c", toucher(2.5)],
  ]);
  expect(ended.exitCode).toBe(6);
  const report = jsonOf(ended) as {
    run_dir: string;
    warnings: string[];
    target: { exit_code: number; wall_s: number };
  };
  expect(report).toMatchObject({ stopped_by: "max_size", target: { exit_code: 5, signal: null } });
  expect(report.target.wall_s).toBeLessThan(2.4);
  expect(report.warnings.join()).toMatch(/recording stopped after .*s, at --max-size/);
  let rows = 0;
  for (const batch of readStream(report.run_dir, "fault")) rows += batch.rows;
  expect(rows).toBeGreaterThan(10_000);
});

test("a disk that is full while results are derived costs nothing that was recorded, nor the results before", async () => {
  const output = outputFolder();
  const first = jsonOf(await runCli([...RUN, "--output", output, "--", "sh", "-c", "exit 0"])) as { run_dir: string };
  const small = join(output, "small");
  mkdirSync(small);
  const script = `mount -t tmpfs -o size=2m none "$0" && cp -r ${first.run_dir} "$0"/run && cd "$0" &&
    dd if=/dev/zero of=filler bs=1k 2>/dev/null; truncate -s -8k filler; find run -type f -exec sha256sum {} + | sort >&2; "$@"; code=$?;
    find run -type f -exec sha256sum {} + | sort >&2; exit $code`;
  const prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, small];
  const ended = await runCli(["analyse", "--json", join(small, "run")], { prefix });
  expect(ended.exitCode).toBe(3);
  expect((jsonOf(ended) as unknown as Failure).error).toMatchObject({
    code: "environment",
    hint: `free some space; what was recorded is kept: mrm-trace analyse ${join(small, "run")}, or of a copy of that folder on another disk`,
  });
  const sums = ended.stderr.split("\n").filter((line) => /^[0-9a-f]{64} /.test(line));
  expect(sums.length).toBeGreaterThan(10);
  expect(sums.slice(sums.length / 2)).toEqual(sums.slice(0, sums.length / 2));
});
