import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createProcessCollector } from "../../../../src/collect/process/process-collector.ts";
import { createSensorReader, findSensors } from "../../../../src/collect/process/sensors.ts";
import { numberAt } from "../../../../src/columnar/cell.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-sensors-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let machines = 0;

/** A machine with these files below /sys and /proc. */
function machine(files: Readonly<Record<string, string>>) {
  machines += 1;
  const root = join(folder, String(machines));
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  };
  for (const [path, text] of Object.entries(files)) put(path, text);
  const sensors = findSensors(join(root, "sys"), join(root, "proc"));
  return { root, put, sensors, read: createSensorReader(sensors, join(root, "proc")) };
}

const CPU = "sys/devices/system/cpu";
/** Two packages of two threads each, as Intel's thermal interrupt handler counts: per core and, on every CPU, per package. */
const THROTTLING = Object.fromEntries(
  [0, 1, 2, 3].flatMap((cpu) => [
    [`${CPU}/cpu${cpu}/topology/physical_package_id`, String(cpu >> 1)],
    [`${CPU}/cpu${cpu}/thermal_throttle/core_throttle_count`, String(cpu)],
    [`${CPU}/cpu${cpu}/thermal_throttle/core_throttle_total_time_ms`, "10"],
    [`${CPU}/cpu${cpu}/thermal_throttle/package_throttle_count`, cpu < 2 ? "5" : "7"],
  ]),
);

describe("the sensors of a machine", () => {
  test("tell nothing, not zero, where there are none", () => {
    const { sensors, read } = machine({});
    expect(sensors).toEqual({ temperatures: [], throttles: [], frequencies: [], cpuinfoMeasures: false });
    expect(Object.values(read()).filter((value) => value !== null)).toEqual([]);
  });

  test("add the throttling of cores, and count each package once", () => {
    expect(machine(THROTTLING).read()).toMatchObject({
      core_throttle_events: 6,
      package_throttle_events: 12,
      throttled_ns: 40e6,
    });
  });

  test("keep what a CPU counted before it went offline", () => {
    const { root, read, put } = machine(THROTTLING);
    read();
    unlinkSync(join(root, CPU, "cpu3/thermal_throttle/core_throttle_count"));
    put(`${CPU}/cpu2/thermal_throttle/core_throttle_count`, "9");
    expect(read().core_throttle_events).toBe(0 + 1 + 9 + 3);
  });

  test("take the processor's temperature where it is named, not that of a disk or a radio", () => {
    const { read } = machine({
      "sys/class/hwmon/hwmon0/name": "nvme",
      "sys/class/hwmon/hwmon0/temp1_input": "88000",
      "sys/class/hwmon/hwmon1/name": "k10temp",
      "sys/class/hwmon/hwmon1/temp1_input": "61500",
      "sys/class/hwmon/hwmon1/temp1_label": "Tctl",
      "sys/class/thermal/thermal_zone0/type": "iwlwifi_1",
      "sys/class/thermal/thermal_zone0/temp": "70000",
      "sys/class/thermal/thermal_zone1/type": "x86_pkg_temp",
      "sys/class/thermal/thermal_zone1/temp": "63000",
    });
    expect(read().temperature_c).toBe(63);
  });

  test("take the hottest zone where none is named after the processor, and no reading that cannot be true", () => {
    const { read } = machine({
      "sys/class/thermal/thermal_zone0/temp": "61500",
      "sys/class/thermal/thermal_zone1/temp": "2147483647",
      "sys/class/thermal/thermal_zone2/temp": "hot",
    });
    expect(read().temperature_c).toBe(61.5);
  });

  test("read frequencies from cpufreq, and from cpuinfo only where it measures", () => {
    const policies = {
      [`${CPU}/cpufreq/policy0/scaling_cur_freq`]: "800000",
      [`${CPU}/cpufreq/policy4/scaling_cur_freq`]: "3600000",
    };
    const own = { cpu_freq_min_mhz: 800, cpu_freq_mean_mhz: 2200, cpu_freq_max_mhz: 3600 };
    expect(machine(policies).read()).toMatchObject(own);
    const cpuinfo = (flags: string) => ({ "proc/cpuinfo": `flags\t\t: fpu ${flags}\ncpu MHz\t\t: 2596.120\n` });
    expect(machine({ ...policies, ...cpuinfo("aperfmperf") }).read()).toMatchObject(own);
    expect(machine(cpuinfo("aperfmperf")).read().cpu_freq_max_mhz).toBe(2596.12);
    expect(machine(cpuinfo("hypervisor")).read().cpu_freq_max_mhz).toBeNull();
  });
});

describe("the process stream", () => {
  test("has a reading of the sensors at the start, at the end, and every second between", async () => {
    const { root, put } = machine(THROTTLING);
    let clock_ns = 0n;
    const collector = createProcessCollector({ sysRoot: join(root, "sys"), now: () => clock_ns });
    await collector.start({ pid: process.pid, command: [], held: false });
    const batches = [];
    // 2.5 s of samples, ten a second.
    for (; clock_ns < 2_500_000_000n; clock_ns += 100_000_000n) batches.push(...collector.batches());
    put(`${CPU}/cpu0/thermal_throttle/core_throttle_count`, "100");
    batches.push(...(await collector.stop()).batches);
    const seen = batches.map(({ columns }) => numberAt(columns.core_throttle_events, 0));
    const readings = seen.filter((value) => value !== null);
    expect(seen[0]).toBe(6);
    expect(seen.at(-1)).toBe(106);
    expect(seen).toHaveLength(26);
    // At 0, 1 and 2 s, and at the end.
    expect(readings).toHaveLength(4);
    // This machine's own: every kernel says what the host took.
    expect(numberAt(batches[0]?.columns.steal_ns, 0)).not.toBeNull();
  });
});
