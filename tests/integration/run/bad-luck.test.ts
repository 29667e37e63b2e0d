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
    expect(error).toMatchObject({ code: "environment", exit_code: 3, hint: "run it with sudo" });
  });

  test("a kernel without BTF", async () => {
    const error = await failureOf([...RUN, "--", "true"], withMounts("mount -t tmpfs none /sys/kernel/btf"));
    expect(error).toMatchObject({ code: "environment", exit_code: 3 });
    expect(error.message).toContain("BTF");
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

  test("by a signal", async () => {
    const ended = await runCli([...RUN, "--output", outputFolder(), "--", "sh", "-c", "sleep 0.3; kill -SEGV $$"]);
    expect(ended.exitCode).toBe(6);
    const report = jsonOf(ended) as { target: Record<string, unknown>; run_dir: string };
    expect(report.target).toMatchObject({ exit_code: null, signal: "SIGSEGV" });
    expect(existsSync(join(report.run_dir, "metrics.parquet"))).toBe(true);
  });

  test("a command that daemonises is followed until its tree is empty", async () => {
    const ended = await runCli([...RUN, "--output", outputFolder(), "--", "sh", "-c", "(sleep 1; true) & exit 0"]);
    expect(ended.exitCode).toBe(0);
    expect((jsonOf(ended) as { target: { wall_s: number } }).target.wall_s).toBeGreaterThan(0.9);
  });

  test("a time limit ends it with 124", async () => {
    const ended = await runCli([...RUN, "--duration", "500ms", "--output", outputFolder(), "--", "sleep", "60"]);
    expect(ended.exitCode).toBe(124);
    expect(jsonOf(ended)).toMatchObject({ target: { signal: "SIGTERM" } });
  });
});

test("a full disk ends the recording, says so, and leaves the segments before it readable", async () => {
  const folder = outputFolder();
  const full = join(folder, "full");
  mkdirSync(full);
  // Random bytes do not compress: faults with random addresses fill a few MiB in seconds.
  const script = 'mount -t tmpfs -o size=3m none "$0" && exec "$@"';
  const prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", `${script}; true`, full];
  const toucher =
    "import mmap,random\nwhile True:\n m=mmap.mmap(-1,1<<26)\n for i in random.sample(range(0,1<<26,4096),16000): m[i]=1\n";
  const ended = await runCli([...RUN, "--duration", "60s", "--output", full, "--", "python3", "-c", toucher], {
    prefix,
  });
  const { error, run_dir } = jsonOf(ended) as unknown as Failure & { run_dir: string };
  expect(ended.exitCode).toBe(1);
  expect(error.message).toMatch(/ENOSPC|space/i);
  expect(run_dir).toContain(full);
});

test("a size limit stops the recording and keeps it", async () => {
  const toucher =
    "import mmap\nwhile True:\n m=mmap.mmap(-1,1<<26)\n for i in range(0,1<<26,4096): m[i]=1\n m.close()\n";
  const ended = await runCli([
    ...RUN,
    "--max-size",
    "200kB",
    "--output",
    outputFolder(),
    "--",
    "python3",
    "-c",
    toucher,
  ]);
  const report = jsonOf(ended) as { run_dir: string; warnings: string[] };
  expect(report.warnings.join()).toContain("--max-size");
  let rows = 0;
  for (const batch of readStream(report.run_dir, "fault")) rows += batch.rows;
  expect(rows).toBeGreaterThan(10_000);
});
