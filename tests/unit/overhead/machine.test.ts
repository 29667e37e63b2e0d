import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { measureBaseline, parseCpuTicks } from "../../../src/overhead/baseline.ts";
import { hostFacts } from "../../../src/overhead/host.ts";
import { treeTicks } from "../../../src/target/tree-cpu.ts";

/** USER_HZ is 100 on every Linux. */
const MS_PER_TICK = 10;
const root = mkdtempSync(join(tmpdir(), "mrm-machine-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

describe("the baseline", () => {
  test("counts waiting for I/O as idle and stolen time as busy", () => {
    expect(parseCpuTicks("cpu  10 1 5 100 7 2 3 4 9 0\ncpu0 1 2 3 4\n")).toEqual({ busy: 25, idle: 107, steal: 4 });
    expect(parseCpuTicks("cpu0 1 2 3 4\n")).toBeNull();
    expect(parseCpuTicks("cpu  10 -1 5 100\n")).toBeNull();
  });

  test("sees a CPU that is kept busy", async () => {
    await using busy = Bun.spawn(["sh", "-c", "while :; do :; done"]);
    // What the program itself was given of a CPU, which is little where others want it, too.
    let givenTicks = 0;
    let busyTicks = 0;
    while (givenTicks < 20) {
      const before = treeTicks(busy.pid);
      const { cpu_pct, cpu_pct_max, duration_ms } = await measureBaseline({ durationMs: 400 });
      givenTicks += treeTicks(busy.pid) - before;
      busyTicks += ((cpu_pct ?? 0) / 100) * cpus().length * (duration_ms / MS_PER_TICK);
      expect(cpu_pct_max ?? 0).toBeGreaterThanOrEqual((cpu_pct ?? 0) * 0.99);
    }
    expect(busyTicks).toBeGreaterThan(0.8 * givenTicks - 5);
  });

  test("is null, not zero, where /proc/stat cannot be read", async () => {
    expect(await measureBaseline({ durationMs: 1, procRoot: join(root, "nothing") })).toMatchObject({
      cpu_pct: null,
      cpu_pct_max: null,
    });
  });

  test("ends early when it is told to", async () => {
    const { duration_ms } = await measureBaseline({ durationMs: 3_600_000, signal: AbortSignal.timeout(20) });
    expect(duration_ms).toBeLessThan(3_600_000);
  });
});

describe("the facts of the machine", () => {
  test("agree with what the runtime knows of this machine", () => {
    const facts = hostFacts();
    expect(facts).toMatchObject({ kernel: release(), cpus: cpus().length, memory_total_bytes: totalmem() });
    expect(facts.cpu_model).toBe(cpus()[0]?.model ?? null);
  });

  test("read governor, lockdown, product and limits from sysfs", () => {
    put(
      "proc/cpuinfo",
      "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon\nflags\t\t: fpu hypervisor sse\n",
    );
    put("proc/meminfo", "MemTotal:       1000 kB\nMemAvailable:    600 kB\n");
    put("proc/sys/kernel/osrelease", "6.1.0\n");
    put("proc/sys/kernel/hostname", "Node_7.example.org\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "3500000\n");
    put("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    put("sys/class/dmi/id/sys_vendor", "QEMU\n");
    expect(hostFacts(root)).toMatchObject({
      machine_id: "node-7",
      cpu_model: "Xeon",
      cpu_vendor: "GenuineIntel",
      cpus: 1,
      memory_total_bytes: 1_024_000,
      memory_available_bytes: 614_400,
      governor: "performance",
      cpu_freq_scaling_max_mhz: 3500,
      lockdown: "integrity",
      virtualisation: "QEMU",
      btf: false,
    });
  });

  test("are null on a machine that says nothing", () => {
    expect(hostFacts(join(root, "nothing"))).toMatchObject({ cpu_model: null, kernel: null, governor: null, cpus: 0 });
  });
});
