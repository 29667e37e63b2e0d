/** The arms of an experiment by name: no tracer, or `mrm-trace run` with options. */
import { perfMemOptions } from "../collect/perf-mem/perf-command.ts";
import { COLLECTOR_NAMES, parseOptions, runSchema, SOURCE_NAMES } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";
import { OFF, OFF_AGAIN } from "../schema/observer-effect.ts";

export interface Arm {
  readonly name: string;
  /** Options of `mrm-trace run`; null for no tracer. */
  readonly options: readonly string[] | null;
}

/** The eBPF collector with its programs and probes attached and no accesses: what attaching alone costs. */
const IDLE = "attached-idle";

/** The options that say what a collector records, for a mode of it. @throws MrmTraceError usage */
const MODES: Record<string, (mode: string) => readonly string[]> = {
  ebpf(mode) {
    if ((SOURCE_NAMES as readonly string[]).includes(mode)) return ["--ebpf", "accesses", "--source", mode];
    parseOptions(runSchema.pick({ ebpf: true }), { ebpf: mode });
    return ["--ebpf", mode];
  },
  "perf-mem"(mode) {
    const wrong = perfMemOptions(mode.split(","));
    if (typeof wrong === "string") {
      throw new MrmTraceError(
        "usage",
        `--arms: perf-mem: ${wrong}`,
        "give arms such as: perf-mem:page-faults, perf-mem:cpu-clock+freq=500",
      );
    }
    return ["--perf", mode];
  },
  memray(mode) {
    parseOptions(runSchema.pick({ memray: true }), { memray: mode });
    return ["--memray", mode];
  },
};

/** Names that an arm may have. */
function armNames(): string[] {
  return [OFF, IDLE, ...COLLECTOR_NAMES, ...Object.keys(MODES).map((name) => `${name}:MODE`)];
}

function armOf(name: string, options: readonly string[]): Arm {
  // Behind the options of every arm: what is said last holds.
  if (name === IDLE) return { name, options: [...options, "--collector", "ebpf", "--ebpf", "faults,engine"] };
  const [, collector = "", mode = ""] = /^([a-z-]+):(.+)$/.exec(name) ?? [];
  const words = MODES[collector];
  if (words !== undefined) {
    // Commas stand between arms, so words of one mode have a plus between.
    return { name, options: [...options, "--collector", collector, ...words(mode.replaceAll("+", ","))] };
  }
  // Several collectors on one clock are one arm: their names with a plus between.
  const collectors = name.split("+");
  if (collectors.every((one) => (COLLECTOR_NAMES as readonly string[]).includes(one))) {
    return { name, options: [...options, "--collector", collectors.join(",")] };
  }
  throw new MrmTraceError(
    "usage",
    `--arms: there is no arm "${name}"`,
    `choose of ${armNames().join(", ")}; what runs together has a plus between`,
  );
}

/**
 * `off`, `off-again` and the named arms, each once.
 * @param options of the tracer in every traced arm
 * @throws MrmTraceError usage
 */
export function armsOf(names: readonly string[], options: readonly string[] = []): Arm[] {
  const traced = [...new Set(names)].filter((name) => name !== OFF && name !== OFF_AGAIN);
  const arms = traced.map((name) => armOf(name, options));
  return [{ name: OFF, options: null }, { name: OFF_AGAIN, options: null }, ...arms];
}
