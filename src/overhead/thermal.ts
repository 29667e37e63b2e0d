/** Throttling and temperature, where the machine tells them. */
import { readdirSync, readFileSync } from "node:fs";

function numberIn(path: string): number | null {
  try {
    const text = readFileSync(path, "utf8").trim();
    return /^-?\d{1,15}$/.test(text) ? Number(text) : null;
  } catch {
    // No such sensor: not measured, which is not the same as zero.
    return null;
  }
}

function list(path: string, pattern: RegExp): string[] {
  try {
    return readdirSync(path).filter((name) => pattern.test(name));
  } catch {
    return [];
  }
}

/** Throttle events of all cores since boot; null where no core has the counter (virtual machines, AMD). */
export function throttleEvents(root = ""): number | null {
  const cpus = `${root}/sys/devices/system/cpu`;
  const counts = list(cpus, /^cpu\d+$/)
    .map((cpu) => numberIn(`${cpus}/${cpu}/thermal_throttle/core_throttle_count`))
    .filter((count) => count !== null);
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}

/** The hottest zone in degrees Celsius; null without one. Readings outside -50..200 are broken sensors. */
export function temperatureC(root = ""): number | null {
  const zones = `${root}/sys/class/thermal`;
  const readings = list(zones, /^thermal_zone\d+$/)
    .map((zone) => numberIn(`${zones}/${zone}/temp`))
    .filter((milli) => milli !== null && milli > -50_000 && milli < 200_000)
    .map((milli) => Number(milli) / 1000);
  return readings.length === 0 ? null : Math.max(...readings);
}
