/** The command line of perf for each way in which it can see memory, and whether it works here. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { listFolder } from "../../kernel/list-folder.ts";
import { GENERAL_REGISTERS } from "./interrupt-registers.ts";

export interface PerfMemOptions {
  /** `mem` for the PMU, page-faults, cpu-clock, or breakpoints such as mem:0x1234/8:rw; several together. */
  readonly events: readonly string[];
  /** Events per sample; null for what suits each event. */
  readonly period: number | null;
  /** Samples per second of cpu-clock. */
  readonly frequencyHz: number;
  /** Least latency in cycles of a load that is sampled. */
  readonly ldlatCycles: number;
}

const DEVICES = "/sys/bus/event_source/devices";
const BREAKPOINT = /^mem:0x[0-9a-f]{1,16}(?:\/[1248])?(?::[rwx]{1,3})?$/;

/** True where the kernel offers memory events of a PMU: what `perf mem` needs. */
export function hasMemoryPmu(devices = DEVICES): boolean {
  if (!existsSync(devices)) return false;
  return readdirSync(devices).some(
    (pmu) => pmu === "ibs_op" || pmu.startsWith("arm_spe") || existsSync(`${devices}/${pmu}/events/mem-loads`),
  );
}

/** Names of the PMUs by their number, as the kernel tells them; none where it does not. */
export function pmuNames(devices = DEVICES): ReadonlyMap<number, string> {
  return new Map(
    listFolder(devices).flatMap((name): [number, string][] => {
      const path = `${devices}/${name}/type`;
      return existsSync(path) ? [[Number(readFileSync(path, "utf8")), name]] : [];
    }),
  );
}

const SETTINGS = { period: 2 ** 31, freq: 10_000, ldlat: 65_535 } as const;
const DEFAULTS = { period: null, freq: 100, ldlat: 30 } as const;

/** What helps where they are wrong. */
export const PERF_MEM_HINT = "give events and settings, such as: --perf page-faults,cpu-clock,freq=500";

/** Events and settings of a list such as `page-faults, cpu-clock, freq=500`; what is wrong with it as text. */
export function perfMemOptions(words: readonly string[]): PerfMemOptions | string {
  const events = words.filter((word) => !word.includes("="));
  const settings: Record<keyof typeof SETTINGS, number | null> = { ...DEFAULTS };
  for (const word of words.filter((one) => one.includes("="))) {
    const [name = "", text = ""] = word.split("=");
    const most = SETTINGS[name as keyof typeof SETTINGS];
    const value = /^\d{1,10}$/.test(text) ? Number(text) : 0;
    if (most === undefined) return `"${name}" is none of ${Object.keys(SETTINGS).join(", ")}`;
    if (value < 1 || value > most) return `${name} is a whole number from 1 to ${most}, but received "${text}"`;
    settings[name as keyof typeof SETTINGS] = value;
  }
  const wrong = wrongEvent(events.length === 0 ? ["nothing"] : events);
  if (wrong !== null) return wrong;
  const { period, freq, ldlat } = settings;
  return { events, period, frequencyHz: freq ?? DEFAULTS.freq, ldlatCycles: ldlat ?? DEFAULTS.ldlat };
}

/** What is wrong with the events; null where each is one that this collector knows. */
function wrongEvent(events: readonly string[]): string | null {
  const knownWords = new Set(["mem", "page-faults", "cpu-clock"]);
  const breakpoints = events.filter((event) => event.startsWith("mem:"));
  const strange = events.find((event) => !knownWords.has(event) && !BREAKPOINT.test(event));
  if (strange !== undefined) return `"${strange}" is none of mem, page-faults, cpu-clock, mem:0xADDRESS/8:rw`;
  if (breakpoints.length > 4) return `${breakpoints.length} breakpoints, and a CPU has 4`;
  return events.includes("mem") && events.length > 1 ? "mem cannot stand beside other events" : null;
}

/** Words for perf, from `perf` on, that record the processes `pids` into `path` once they are enabled. */
export function perfCommand(options: PerfMemOptions, pids: readonly number[], path: string): string[] {
  const { events, period, ldlatCycles, frequencyHz } = options;
  const common = [
    "-q",
    "-k",
    "CLOCK_MONOTONIC",
    "--sample-cpu",
    // No search for build ids in the end: it reads every mapped file.
    ...["-N", "-B"],
    ...["-D", "-1", "--control", "fd:3,4"],
    ...["-p", pids.join(","), "-o", path],
  ];
  if (events.includes("mem")) {
    const each = period === null ? [] : ["-c", String(period)];
    return ["perf", "mem", "--ldlat", String(ldlatCycles), "record", ...each, ...common];
  }
  const words = events.flatMap((event) => {
    if (event === "cpu-clock") return ["-e", `cpu-clock/freq=${frequencyHz}/u`];
    return ["-e", event.startsWith("mem:") ? event : `${event}/period=${period ?? 1}/`];
  });
  const registers = events.includes("cpu-clock") ? [`--intr-regs=${GENERAL_REGISTERS.join(",")}`] : [];
  const counted = events.some((event) => event.startsWith("mem:")) ? ["-c", String(period ?? 1)] : [];
  return ["perf", "record", ...words, ...counted, "-d", ...registers, ...common];
}
