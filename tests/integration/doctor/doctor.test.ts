import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import { examineMachine } from "../../../src/doctor/examine.ts";
import { onlineCpus } from "../../../src/kernel/cpus.ts";
import { type Examination, examinationSchema } from "../../../src/schema/examination.ts";
import { runJsonSchema } from "../../../src/schema/run-json.ts";
import { registersFree } from "../../fixtures/registers-free.ts";
import { withMounts } from "../../fixtures/with-mounts.ts";
import { heldNow } from "../collect/held-target.ts";
import { type Ended, endLeftRuns, jsonOf, QUICK, runCli } from "../run/cli.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-doctor-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(endLeftRuns);

/** The one object on stdout, checked against its schema. */
function examinationOf(ended: Ended): Examination {
  const found = examinationSchema.strict().parse(JSON.parse(ended.stdout));
  expect(ended.exitCode).toBe(found.exit_code);
  expect(ended.stderr).toBe("");
  return found;
}

const doctor = async (options: Parameters<typeof runCli>[1] = {}) =>
  examinationOf(await runCli(["doctor", "--json", "--output", folder], options));

const statusOf = ({ checks }: Examination, name: string) => checks.find((check) => check.name === name)?.status;
const failures = ({ checks }: Examination) => checks.filter(({ status }) => status === "fail").map(({ name }) => name);
const NOBODY = ["setpriv", "--reuid=nobody", "--clear-groups", "--"];

describe("the doctor on this machine as root", () => {
  test("finds that everything loads and attaches, four registers, and what a trap costs", async () => {
    await registersFree();
    const found = await doctor();
    expect(failures(found)).toEqual([]);
    expect(found.exit_code).toBe(0);
    const attach = found.checks.filter(({ name }) => name.startsWith("attach: "));
    expect(attach.map(({ name }) => name)).toEqual(
      ["lifecycle", "faults", "engine", "clock", "samples", "watch"].map((object) => `attach: ${object}`),
    );
    for (const { data } of attach) expect(data).toMatchObject({ attached: data.programs, refused: [], error: null });
    expect(found.checks.find(({ name }) => name === "kernel")?.summary).toContain(release());
    expect(statusOf(found, "watch_registers")).toBe("ok");
    const cost = found.checks.find(({ name }) => name === "trap_cost")?.data;
    // A trap is an exception and a program: never below 0.1 us, and 100 us would be a broken clock.
    expect(Number(cost?.trapNs)).toBeGreaterThan(100);
    expect(Number(cost?.trapNs)).toBeLessThan(100_000);
    // Of a program that fills its caches between two traps a trap takes more than of a loop around one word.
    expect(Number(cost?.trapNs)).toBeGreaterThan(Number(cost?.warmTrapNs));
    const { auto, candidates } = found.sources;
    expect(auto?.split(",")).toContain("watch");
    expect(candidates.filter(({ taken, why_not }) => taken === (why_not !== null))).toEqual([]);
  });

  test("says which access source a run then takes", async () => {
    await registersFree();
    const { sources } = await doctor();
    const args = ["run", "--json", ...QUICK, "--output", folder, "--", "sleep", "0.2"];
    const { collectors } = runJsonSchema.parse(jsonOf(await runCli(args)));
    expect(collectors.find(({ name }) => name === "ebpf")?.sources.join(",")).toBe(sources.auto ?? "none");
  });

  test("names who holds registers that it misses, and goes on with the others", async () => {
    await registersFree();
    const script = new URL("../../fixtures/hold-registers.ts", import.meta.url).pathname;
    const holder = Bun.spawn([process.execPath, script, "3"], { stdout: "pipe", stderr: "inherit" });
    try {
      await holder.stdout.getReader().read();
      const found = await doctor();
      const check = found.checks.find(({ name }) => name === "watch_registers");
      expect(check).toMatchObject({ status: "warn", data: { wanted: 4, free: 1 } });
      const events = 3 * onlineCpus().length;
      expect(check?.summary).toContain(`(pid ${holder.pid}) has ${events} perf events`);
      expect(statusOf(found, "trap_cost")).toBe("ok");
      expect(found.exit_code).toBe(0);
    } finally {
      holder.kill("SIGKILL");
      await holder.exited;
    }
  });

  test("leaves nothing loaded, attached, mapped or open", async () => {
    const look = () => examineMachine({ output: folder, bunNeeded: packageJson.engines.bun });
    await look();
    const before = heldNow();
    expect(before.kernelObjects).toEqual([]);
    await look();
    expect(heldNow()).toEqual(before);
  });

  test("writes no file, mounts nothing and sets no switch of the kernel", async () => {
    const home = join(folder, "home");
    mkdirSync(home);
    const switches = () =>
      [
        "perf_event_paranoid",
        "kptr_restrict",
        "bpf_stats_enabled",
        "perf_event_max_sample_rate",
        "unprivileged_bpf_disabled",
      ]
        .map((name) => `${name}=${readFileSync(`/proc/sys/kernel/${name}`, "utf8").trim()}`)
        .concat(readFileSync("/proc/self/mounts", "utf8"));
    const before = switches();
    // Bun caches what it compiles, for every program that it runs; that is not asked here.
    const bun = { BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" };
    const env = { ...bun, HOME: home, TMPDIR: home, XDG_CACHE_HOME: join(home, "cache"), MRM_TRACE_CACHE: "" };
    const ended = await runCli(["doctor", "--json", "--output", join(home, "results")], {
      env,
      prefix: ["env", "-C", home],
    });
    expect(statusOf(examinationOf(ended), "demo_engine")).toBe("info");
    expect(readdirSync(home)).toEqual([]);
    expect(switches()).toEqual(before);
  });
});

describe("the doctor without root", () => {
  test("says what fails and how to fix it, and ends with 3", async () => {
    const found = await doctor({ prefix: NOBODY });
    expect(found).toMatchObject({ exit_code: 3, status: "fail", sources: { auto: null } });
    expect(failures(found)).toEqual(expect.arrayContaining(["user", "CAP_BPF", "CAP_PERFMON", "attach: watch"]));
    const needy = found.checks.filter(({ status }) => status === "fail" || status === "warn");
    expect(needy.filter(({ fix }) => fix === null)).toEqual([]);
    expect(statusOf(found, "btf")).toBe("ok");
  });

  test("tells with two capabilities what they already give", async () => {
    const caps = ["--inh-caps=+bpf,+perfmon", "--ambient-caps=+bpf,+perfmon"];
    const found = await doctor({ prefix: ["setpriv", "--reuid=nobody", "--clear-groups", ...caps, "--"] });
    expect(failures(found)).toContain("CAP_DAC_READ_SEARCH");
    expect(failures(found)).not.toContain("CAP_BPF");
    expect(statusOf(found, "attach: watch")).toBe("ok");
    expect(statusOf(found, "attach: lifecycle")).toBe("fail");
  });
});

describe("the doctor on a machine that lacks something", () => {
  test.each([
    ["BTF", "mount -t tmpfs none /sys/kernel/btf", "btf"],
    ["libbpf", "mount --bind /dev/null $(readlink -f /usr/lib/*/libbpf.so.1)", "libbpf"],
  ])("%s fails there and nowhere by accident", async (_, mounts, name) => {
    const found = await doctor({ prefix: withMounts(mounts) });
    expect(found.exit_code).toBe(3);
    expect(failures(found)).toContain(name);
    expect(statusOf(found, "user")).toBe("ok");
    expect(found.sources.auto).toBeNull();
  });

  test("tracefs is not mounted for it: what needs it is not tried", async () => {
    const hide =
      "umount -l /sys/kernel/tracing; umount -l /sys/kernel/debug/tracing; umount -l /sys/kernel/debug; true";
    const after = `"$@"; code=$?; grep -c tracefs /proc/self/mounts >&2; exit $code`;
    const prefix = [
      "unshare",
      "--mount",
      "--propagation",
      "private",
      "sh",
      "-c",
      `(${hide}) 2>/dev/null; ${after}`,
      "sh",
    ];
    const ended = await runCli(["doctor", "--json", "--output", folder], { prefix });
    const found = examinationSchema.parse(JSON.parse(ended.stdout));
    expect(statusOf(found, "tracefs")).toBe("warn");
    expect(statusOf(found, "attach: lifecycle")).toBe("warn");
    expect(statusOf(found, "attach: watch")).toBe("ok");
    expect(ended.stderr.trim()).toBe("0");
  });

  test("a program that hangs is asked for 4 s, then killed", async () => {
    const bin = join(folder, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "perf"), "#!/bin/sh\nexec sleep 3600\n");
    chmodSync(join(bin, "perf"), 0o755);
    // It answers long before perf would.
    const found = await doctor({ env: { PATH: `${bin}:${process.env.PATH}` } });
    expect(statusOf(found, "perf")).toBe("warn");
  });

  test("an output folder that does not exist and could not be made", async () => {
    const found = examinationOf(await runCli(["doctor", "--json", "--output", "/proc/nowhere/results"]));
    expect(failures(found)).toContain("disk");
  });
});

describe("validate --machine", () => {
  test("is the same list", async () => {
    const names = ({ checks }: Examination) => checks.map(({ name, status }) => `${name} ${status}`);
    const validate = examinationOf(await runCli(["validate", "--machine", "--json"], { prefix: NOBODY }));
    const own = examinationOf(await runCli(["doctor", "--json"], { prefix: NOBODY }));
    expect(names(validate)).toEqual(names(own));
  });

  test("takes no file beside it", async () => {
    const { exitCode, stderr } = await runCli(["validate", "--machine", "experiment.yaml"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("mrm-trace doctor && mrm-trace validate FILE");
  });
});

describe("what the doctor prints for a person", () => {
  test("has one line for each check, the fix below, then source and verdict, without colour in a pipe", async () => {
    const { stdout, exitCode } = await runCli(["doctor", "--output", folder], {
      prefix: NOBODY,
      env: { NO_COLOR: "" },
    });
    expect(exitCode).toBe(3);
    expect(stdout).not.toContain("\x1b");
    const lines = stdout.trimEnd().split("\n");
    expect(lines.filter((line) => /^FAIL {2}user\b/.test(line))).toHaveLength(1);
    expect(lines.filter((line) => /^ +fix: sudo mrm-trace run$/.test(line)).length).toBeGreaterThan(0);
    expect(lines).toContain("access source: none");
    expect(lines.at(-1)).toMatch(/^not ready: \d+ OK, \d+ INFO, \d+ WARN, \d+ FAIL$/);
    const isFix = (line: string): boolean => /^ {6}(?: {5}|fix: )\S/.test(line);
    expect(lines.filter((line) => line.length > 100 && !isFix(line))).toEqual([]);
  });

  test.each([
    ["", true],
    ["1", false],
  ])("has colour on a terminal unless NO_COLOR is set: NO_COLOR=%s", async (noColor, colour) => {
    const cli = new URL("../../../src/cli.ts", import.meta.url).pathname;
    const command = [...NOBODY, process.execPath, cli, "doctor"].join(" ");
    const env = { ...process.env, NO_COLOR: noColor, TERM: "xterm" };
    const child = Bun.spawn(["script", "-qec", command, "/dev/null"], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      env,
    });
    const text = await new Response(child.stdout).text();
    expect(await child.exited).toBe(3);
    expect(text).toContain("user");
    expect(text.includes("\x1b[31mFAIL")).toBe(colour);
  });

  test("has colour when asked for it", async () => {
    const { stdout } = await runCli(["doctor", "--color", "always", "--output", folder], { prefix: NOBODY });
    expect(stdout).toContain("\x1b[31mFAIL");
  });
});
