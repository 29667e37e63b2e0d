/** Capabilities in place of root: a user with exactly those that doctor names traces, and each one that is left out is named. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { snapshotRows } from "../../../src/collect/ebpf/lifecycle/maps-look.ts";
import { examinationSchema } from "../../../src/schema/examination.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { readStream } from "../../fixtures/parquet-by-wasm.ts";
import { registersFree } from "../../fixtures/registers-free.ts";
import { waitUntil } from "../../fixtures/wait-until.ts";
import { columnOf } from "../collect/traced.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "../run/cli.ts";

const NOBODY = 65534;
const ALL = ["bpf", "perfmon", "sys_ptrace", "dac_read_search", "checkpoint_restore"] as const;
type Name = (typeof ALL)[number];

/** A file of the eBPF collector, to import. */
const source = (path: string): string => new URL(`../../../src/collect/ebpf/${path}`, import.meta.url).pathname;

const isRoot = process.getuid?.() === 0;
if (!isRoot) process.stderr.write("capabilities of a user: skipped, giving them needs root\n");

/** Words to put before a command that is to run as nobody with these capabilities and no others. */
function nobodyWith(names: readonly Name[]): string[] {
  const set = ["-all", ...names.map((name) => `+${name}`)].join(",");
  const user = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  return ["setpriv", ...user, `--inh-caps=${set}`, `--ambient-caps=${set}`, "--"];
}

describe.skipIf(!isRoot)("a user with capabilities (needs root)", () => {
  const folder = outputFolder();
  const output = join(folder, "runs");
  const program = (name: string): string => join(folder, name);
  beforeAll(() => {
    chmodSync(folder, 0o755);
    mkdirSync(output);
    chownSync(output, NOBODY, NOBODY);
    for (const name of ["count-faults", "walk-array"]) {
      copyFileSync(compileProgram(name, ["-no-pie"]), program(name));
      chmodSync(program(name), 0o755);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  afterEach(endLeftRuns);

  const env = { HOME: output };
  const ask = (names: readonly Name[], args: readonly string[]) => runCli(args, { prefix: nobodyWith(names), env });
  const COMMON = ["--json", "--quiet", ...QUICK, "--output", output];
  const rows = (ended: Parameters<typeof jsonOf>[0], stream: "access" | "fault" | "mapping") => {
    const { run_dir } = jsonOf(ended) as { run_dir: string };
    return columnOf([...readStream(run_dir, stream)], "pid").map(Number);
  };

  test("runs a command, sees its faults, mappings and accesses, and gives it none of them", async () => {
    await registersFree();
    const PAGES = 4000;
    const script =
      'grep -E "Cap(Inh|Prm|Eff|Amb)" /proc/self/status >&2; "$0" 0 4 >/dev/null; exec "$1" "$2" >/dev/null';
    const command = ["sh", "-c", script, program("walk-array"), program("count-faults"), String(PAGES)];
    const ended = await ask(ALL, ["run", ...COMMON, "--", ...command]);
    expect(ended.exitCode).toBe(0);
    expect([...ended.stderr.matchAll(/Cap(?:Inh|Prm|Eff|Amb):\s*(\S+)/g)].map((match) => match[1])).toEqual(
      Array(4).fill("0".repeat(16)),
    );
    expect(rows(ended, "fault").length).toBeGreaterThan(2 * PAGES);
    expect(rows(ended, "mapping").length).toBeGreaterThan(50);
    expect(rows(ended, "access").length).toBeGreaterThan(20);
  });

  test("attaches to a process of another user", async () => {
    await registersFree();
    const target = Bun.spawn([program("walk-array"), "0", "30"], { stdout: "ignore" });
    try {
      const ended = await ask(ALL, ["attach", String(target.pid), "--duration", "2s", ...COMMON]);
      expect([ended.exitCode, ended.stderr]).toEqual([0, ""]);
      expect(new Set(rows(ended, "access"))).toEqual(new Set([target.pid]));
      expect(rows(ended, "mapping").length).toBeGreaterThan(5);
    } finally {
      target.kill("SIGKILL");
      await target.exited;
    }
  });

  test("starts perf, which has them too", async () => {
    const args = [
      "run",
      ...COMMON,
      "--collector",
      "perf-mem",
      "--perf",
      "page-faults",
      "--",
      program("count-faults"),
      "1000",
    ];
    const ended = await ask(ALL, args);
    expect(ended.exitCode).toBe(0);
    expect(rows(ended, "fault").length).toBeGreaterThan(2000);
    const refused = await ask(
      ALL.filter((name) => name !== "perfmon"),
      args,
    );
    expect(refused.exitCode).toBe(3);
    expect(refused.stdout).toContain("CAP_PERFMON: missing: perf, which uid");
  });

  test("is told by doctor that all is there, and what CAP_SYS_ADMIN would add", async () => {
    const found = examinationSchema.parse(
      JSON.parse((await ask(ALL, ["doctor", "--json", "--output", output])).stdout),
    );
    const statusOf = (name: string) => found.checks.find((check) => check.name === name)?.status;
    for (const name of ["user", "namespaces", "attach: lifecycle", "attach: faults", "attach: engine", "attach: watch"])
      expect([name, statusOf(name)]).toEqual([name, "ok"]);
    expect(statusOf("CAP_SYS_ADMIN")).toBe("warn");
    expect(found.checks.filter(({ status }) => status === "fail")).toEqual([]);
  });

  describe.each([
    ["bpf", "CAP_BPF: missing: no BPF program or map"],
    ["perfmon", "CAP_PERFMON: missing: no perf events"],
    ["dac_read_search", "CAP_DAC_READ_SEARCH: missing: tracefs stays closed"],
  ] as const)("without %s", (left, reason) => {
    const names = ALL.filter((name) => name !== left);

    test("is refused before anything is made or started, by the word of doctor", async () => {
      const before = readdirSync(output).length;
      const ended = await ask(names, ["run", ...QUICK, "--output", output, "--", "touch", join(output, "started")]);
      expect(ended.exitCode).toBe(3);
      expect(ended.stderr).toContain(reason);
      expect(ended.stderr).toContain("--ambient-caps=+bpf,+perfmon,+sys_ptrace,+dac_read_search,+checkpoint_restore");
      expect(readdirSync(output).length).toBe(before);
      const examined = await ask(names, ["doctor", "--json", "--output", output]);
      const { checks } = examinationSchema.parse(JSON.parse(examined.stdout));
      expect(checks.map(({ name, summary }) => `${name}: ${summary}`).join("\n")).toContain(reason);
    });
  });

  test("opens the file of a mapping whose name is gone, and does not without checkpoint_restore", async () => {
    const path = program("replaced");
    copyFileSync(Bun.which("sleep") ?? "", path);
    const target = Bun.spawn([path, "60"]);
    const found = (names: readonly Name[]): string => {
      const code = `
        const { snapshotRows } = await import(${JSON.stringify(source("lifecycle/maps-look.ts"))});
        const { mappedFile } = await import(${JSON.stringify(source("engine/mapped-file.ts"))});
        const row = snapshotRows(${target.pid}, 0).find(({ path }) => path?.startsWith(${JSON.stringify(path)}));
        console.log(mappedFile(row)?.openPath.split("/")[3] ?? "nothing");`;
      const asked = Bun.spawnSync([...nobodyWith(names), process.execPath, "-e", code], {
        env: { ...process.env, ...env },
      });
      return asked.stdout.toString().trim() || asked.stderr.toString();
    };
    try {
      const mapped = () => (snapshotRows(target.pid, 0) ?? []).some((row) => row.path === path);
      expect(await waitUntil(mapped)).toBe(true);
      rmSync(path);
      expect(found(ALL)).toBe("map_files");
      expect(found(ALL.filter((name) => name !== "checkpoint_restore"))).toBe("nothing");
    } finally {
      target.kill("SIGKILL");
      await target.exited;
    }
  });

  describe("without sys_ptrace", () => {
    const names = ALL.filter((name) => name !== "sys_ptrace");

    test("traces its own command", async () => {
      const ended = await ask(names, ["run", ...COMMON, "--ebpf", "faults", "--", program("count-faults"), "1000"]);
      expect(ended.exitCode).toBe(0);
      expect(rows(ended, "fault").length).toBeGreaterThan(2000);
      expect(rows(ended, "mapping").length).toBeGreaterThan(10);
    });

    test("is refused a process of another user by name", async () => {
      const target = Bun.spawn(["sleep", "60"]);
      try {
        const ended = await ask(names, [
          "attach",
          String(target.pid),
          "--duration",
          "1s",
          ...QUICK,
          "--output",
          output,
        ]);
        expect(ended.exitCode).toBe(3);
        const reason = `CAP_SYS_PTRACE: missing: the memory of process ${target.pid} is closed to uid ${NOBODY}`;
        expect(ended.stderr).toContain(reason);
        expect(ended.stderr).toContain("--ambient-caps=+bpf,+perfmon,+sys_ptrace");
      } finally {
        target.kill("SIGKILL");
        await target.exited;
      }
    });
  });
});
