import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { createSensorReader, findSensors } from "../../../../src/collect/process/sensors.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-sensors-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const CPU = "sys/devices/system/cpu";
const FILES = [
  `${CPU}/cpu0/thermal_throttle/core_throttle_count`,
  `${CPU}/cpu0/thermal_throttle/core_throttle_total_time_ms`,
  `${CPU}/cpu0/thermal_throttle/package_throttle_count`,
  `${CPU}/cpu0/topology/physical_package_id`,
  `${CPU}/cpufreq/policy0/scaling_cur_freq`,
  "sys/class/hwmon/hwmon0/name",
  "sys/class/hwmon/hwmon0/temp1_input",
  "sys/class/hwmon/hwmon0/temp1_label",
  "sys/class/thermal/thermal_zone0/type",
  "sys/class/thermal/thermal_zone0/temp",
  "proc/cpuinfo",
];
for (const path of FILES) mkdirSync(dirname(join(root, path)), { recursive: true });

/** Bytes, or text that is nearly what is expected. */
const text = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.integer().map(String),
  fc.constantFrom(
    "coretemp",
    "x86_pkg_temp",
    "-1",
    "9".repeat(30),
    "1e9",
    "flags : aperfmperf\ncpu MHz\t: 99999999.5\n",
  ),
);

test("sensors never throw and never say what cannot be, whatever the files hold and become", () => {
  const put = (texts: readonly (string | Uint8Array)[]): void => {
    for (const [i, path] of FILES.entries()) writeFileSync(join(root, path), texts[i] ?? "");
  };
  const texts = fc.array(text, { minLength: FILES.length, maxLength: FILES.length });
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      put(before);
      const read = createSensorReader(findSensors(join(root, "sys"), join(root, "proc")), join(root, "proc"));
      read();
      put(after);
      const { temperature_c, ...others } = read();
      if (temperature_c !== null) expect(Math.abs(temperature_c)).toBeLessThan(200);
      for (const value of Object.values(others)) if (value !== null) expect(value).toBeGreaterThanOrEqual(0);
      if (others.cpu_freq_max_mhz !== null) expect(others.cpu_freq_max_mhz).toBeLessThan(20_000);
    }),
  );
});
