/** The arms of an experiment by name: no tracer, or `mrm-trace run` with options. */
import { COLLECTOR_NAMES } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";
import { OFF, OFF_AGAIN } from "../schema/observer-effect.ts";

export interface Arm {
  readonly name: string;
  /** Options of `mrm-trace run`; null for no tracer. */
  readonly options: readonly string[] | null;
}

/** The eBPF collector with its programs and probes attached and no watch: what attaching alone costs. */
const IDLE = "attached-idle";

/** Before a mode of perf, such as page-faults: `--perf` of one arm alone, so that modes can be compared. */
const PERF_MODE = "perf-mem:";

/** Names that an arm may have. */
function armNames(): string[] {
  return [OFF, IDLE, ...COLLECTOR_NAMES, `${PERF_MODE}MODE`];
}

function armOf(name: string, options: readonly string[]): Arm {
  // Behind the options of every arm: what is said last holds.
  if (name === IDLE) return { name, options: [...options, "--collector", "ebpf", "--watch-registers", "0"] };
  if (name.startsWith(PERF_MODE)) {
    return { name, options: [...options, "--collector", "perf-mem", "--perf", name.slice(PERF_MODE.length)] };
  }
  // Several collectors on one clock are one arm: their names with a plus between.
  const collectors = name.split("+");
  if (collectors.every((one) => (COLLECTOR_NAMES as readonly string[]).includes(one))) {
    return { name, options: [...options, "--collector", collectors.join(",")] };
  }
  throw new MrmTraceError(
    "usage",
    `--arms: there is no arm "${name}"`,
    `choose of ${armNames().join(", ")}; collectors that run together with a plus between`,
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
