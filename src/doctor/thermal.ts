/** What this machine will tell of heat and frequency while a run lasts. */

import type { SensorReading, Sensors } from "../collect/process/sensors.ts";
import type { HostFacts } from "../overhead/host.ts";
import { THRESHOLDS } from "../overhead/validity.ts";
import { check } from "../schema/check.ts";
import type { Check } from "../schema/examination.ts";

export interface ThermalFacts {
  readonly sensors: Sensors;
  readonly reading: SensorReading;
  readonly governor: string | null;
  readonly turbo: boolean | null;
  readonly virtualisation: HostFacts["virtualisation"];
}

/** From here on a run is no longer clean. */
const WARM_C = THRESHOLDS.peak_temperature_c.clean;

function judgeThrottle({ reading, virtualisation }: ThermalFacts): Check {
  const events = reading.core_throttle_events;
  if (events === null) {
    const why =
      virtualisation !== null && virtualisation !== "none" ? "a virtual machine has none" : "this processor has none";
    return check("throttle_counters", "info", `none (${why}): runs say that throttling was not measured`);
  }
  const data = { core_throttle_events: events, package_throttle_events: reading.package_throttle_events };
  return check("throttle_counters", "ok", `${events} events since boot; runs count their own`, { data });
}

function judgeTemperature({ reading, sensors }: ThermalFacts): Check {
  const celsius = reading.temperature_c;
  if (celsius === null) return check("temperature", "info", "no sensor: runs say that it was not measured");
  const data = { temperature_c: celsius, sensors: sensors.temperatures.map(({ name }) => name) };
  const summary = `${celsius.toFixed(1)} C, the hottest of ${sensors.temperatures.length} sensors`;
  if (celsius <= WARM_C) return check("temperature", "ok", summary, { data });
  return check("temperature", "warn", `${summary}: above ${WARM_C} C a run is not clean`, {
    fix: "let the machine cool down, or end what heats it: top -o %CPU",
    data,
  });
}

function judgeFrequency({ reading, governor, turbo }: ThermalFacts): Check {
  if (reading.cpu_freq_mean_mhz === null) {
    return check("frequency", "info", "not visible (no cpufreq): runs say that it was not measured", {
      data: { governor, turbo },
    });
  }
  const range = `${Math.round(reading.cpu_freq_min_mhz ?? 0)} to ${Math.round(reading.cpu_freq_max_mhz ?? 0)} MHz now`;
  const summary = `${range}, governor ${governor ?? "unknown"}, turbo ${turbo === null ? "unknown" : turbo ? "on" : "off"}`;
  const data = { governor, turbo, min_mhz: reading.cpu_freq_min_mhz, max_mhz: reading.cpu_freq_max_mhz };
  if (governor === null || governor === "performance") return check("frequency", "ok", summary, { data });
  return check("frequency", "info", `${summary}: figures per second move with it`, {
    fix: "sudo cpupower frequency-set -g performance",
    data,
  });
}

export function judgeThermal(facts: ThermalFacts): Check[] {
  return [judgeThrottle(facts), judgeTemperature(facts), judgeFrequency(facts)];
}
