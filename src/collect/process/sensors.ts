/** Where this machine tells temperature, throttling and frequency, and what it says now. */

import { listFolder } from "../../kernel/list-folder.ts";
import { readProc } from "../../target/proc-file.ts";

/** Files of one machine, found once: sensors do not come and go while a run lasts. */
export interface Sensors {
  /** Millidegrees Celsius; those of the processor where the machine names them, else every thermal zone. */
  readonly temperatures: readonly Sensor[];
  /** Throttle counters of each CPU (Linux, arch/x86/kernel/cpu/mce/therm_throt.c): Intel on bare metal. */
  readonly throttles: readonly ThrottleFiles[];
  /** Current frequency in kHz, one file per cpufreq policy. */
  readonly frequencies: readonly string[];
  /** True where /proc/cpuinfo measures (aperfmperf) and cpufreq does not: elsewhere its figure is nominal. */
  readonly cpuinfoMeasures: boolean;
}

export interface Sensor {
  readonly name: string;
  readonly path: string;
}

export interface ThrottleFiles {
  readonly package: string;
  readonly coreEvents: string;
  readonly coreTimeMs: string;
  readonly packageEvents: string;
}

/** One reading; null for what the machine does not tell. Counters count since boot. */
export interface SensorReading {
  /** The hottest sensor. */
  readonly temperature_c: number | null;
  readonly core_throttle_events: number | null;
  /** Each package once, though all its CPUs count it. */
  readonly package_throttle_events: number | null;
  readonly throttled_ns: number | null;
  readonly cpu_freq_min_mhz: number | null;
  readonly cpu_freq_mean_mhz: number | null;
  readonly cpu_freq_max_mhz: number | null;
}

/** Zone types and hwmon drivers that measure a processor. */
const CPU_ZONE = /^(?:x86_pkg_temp|cpu|soc)/i;
const CPU_HWMON = /^(?:coretemp|k10temp|zenpower|cpu_thermal|scmi_sensors)$/;
/** Readings outside are broken sensors. */
const COLDEST_MILLI_C = -50_000;
const HOTTEST_MILLI_C = 200_000;
const HIGHEST_KHZ = 20_000_000;

function word(path: string): string {
  const read = readProc(path);
  return read.ok ? read.text.trim() : "";
}

function whole(path: string): number | null {
  const text = word(path);
  return /^-?\d{1,15}$/.test(text) ? Number(text) : null;
}

function temperatureSensors(root: string): Sensor[] {
  const hwmon = listFolder(`${root}/class/hwmon`, /^hwmon\d+$/).flatMap((device) => {
    const folder = `${root}/class/hwmon/${device}`;
    const driver = word(`${folder}/name`);
    if (!CPU_HWMON.test(driver)) return [];
    return listFolder(folder, /^temp\d+_input$/).map((input) => {
      const label = word(`${folder}/${input.replace("_input", "_label")}`);
      return { name: label === "" ? driver : `${driver} ${label}`, path: `${folder}/${input}` };
    });
  });
  const zones = listFolder(`${root}/class/thermal`, /^thermal_zone\d+$/).map((zone) => ({
    name: word(`${root}/class/thermal/${zone}/type`) || zone,
    path: `${root}/class/thermal/${zone}/temp`,
  }));
  const cpuSensors = [...hwmon, ...zones.filter(({ name }) => CPU_ZONE.test(name))];
  return cpuSensors.length > 0 ? cpuSensors : zones;
}

/** Finds the sensors; none is an ordinary answer. @param root of sysfs @param procRoot of procfs */
export function findSensors(root = "/sys", procRoot = "/proc"): Sensors {
  const cpus = `${root}/devices/system/cpu`;
  const throttles = listFolder(cpus, /^cpu\d+$/).flatMap((cpu) => {
    const folder = `${cpus}/${cpu}/thermal_throttle`;
    if (whole(`${folder}/core_throttle_count`) === null) return [];
    return {
      package: word(`${cpus}/${cpu}/topology/physical_package_id`),
      coreEvents: `${folder}/core_throttle_count`,
      coreTimeMs: `${folder}/core_throttle_total_time_ms`,
      packageEvents: `${folder}/package_throttle_count`,
    };
  });
  const frequencies = listFolder(`${cpus}/cpufreq`, /^policy\d+$/)
    .map((policy) => `${cpus}/cpufreq/${policy}/scaling_cur_freq`)
    .filter((path) => whole(path) !== null);
  const cpuinfoMeasures = frequencies.length === 0 && /^flags\s*:.*\baperfmperf\b/m.test(word(`${procRoot}/cpuinfo`));
  return { temperatures: temperatureSensors(root), throttles, frequencies, cpuinfoMeasures };
}

function hottest(sensors: readonly Sensor[]): number | null {
  const readings = sensors.flatMap(({ path }) => {
    const milli = whole(path);
    return milli !== null && milli > COLDEST_MILLI_C && milli < HOTTEST_MILLI_C ? [milli / 1000] : [];
  });
  return readings.length === 0 ? null : Math.max(...readings);
}

/** A counter that cannot be read now, as that of a CPU that went offline, keeps what it said last. */
function createCounters() {
  const last = new Map<string, number>();
  return (path: string): number | null => {
    const now = whole(path);
    if (now !== null && now >= 0) last.set(path, now);
    return last.get(path) ?? null;
  };
}

function sum(values: readonly (number | null)[]): number | null {
  const numbers = values.filter((value) => value !== null);
  return numbers.length === 0 ? null : numbers.reduce((total, value) => total + value, 0);
}

function packageEvents(throttles: readonly ThrottleFiles[], count: (path: string) => number | null): number | null {
  const most = new Map<string, number>();
  for (const files of throttles) {
    const events = count(files.packageEvents);
    if (events !== null) most.set(files.package, Math.max(most.get(files.package) ?? 0, events));
  }
  return sum([...most.values()]);
}

function frequencies(sensors: Sensors, procRoot: string): number[] {
  const khz = sensors.cpuinfoMeasures
    ? [...word(`${procRoot}/cpuinfo`).matchAll(/^cpu MHz\s*:\s*(\d{1,6}(?:\.\d{1,6})?)$/gm)].map(
        (mhz) => Number(mhz[1]) * 1000,
      )
    : sensors.frequencies.flatMap((path) => whole(path) ?? []);
  return khz.filter((value) => value > 0 && value < HIGHEST_KHZ).map((value) => value / 1000);
}

/** A reader of these sensors. @param procRoot of procfs */
export function createSensorReader(sensors: Sensors, procRoot = "/proc"): () => SensorReading {
  const count = createCounters();
  return () => {
    const mhz = frequencies(sensors, procRoot);
    const timeMs = sum(sensors.throttles.map(({ coreTimeMs }) => count(coreTimeMs)));
    return {
      temperature_c: hottest(sensors.temperatures),
      core_throttle_events: sum(sensors.throttles.map(({ coreEvents }) => count(coreEvents))),
      package_throttle_events: packageEvents(sensors.throttles, count),
      throttled_ns: timeMs === null ? null : timeMs * 1e6,
      cpu_freq_min_mhz: mhz.length === 0 ? null : Math.min(...mhz),
      cpu_freq_mean_mhz: mhz.length === 0 ? null : mhz.reduce((total, value) => total + value, 0) / mhz.length,
      cpu_freq_max_mhz: mhz.length === 0 ? null : Math.max(...mhz),
    };
  };
}
