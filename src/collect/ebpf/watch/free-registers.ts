/** How many debug registers are free, and who may hold the others. */
import { readdirSync, readFileSync } from "node:fs";
import { openWatchpoint, WATCHPOINT } from "../../../kernel/watchpoint.ts";

export interface FreeRegisters {
  /** Free on every CPU, at most `wanted`. */
  readonly count: number;
  readonly perCpu: ReadonlyMap<number, number>;
  /** errno that ended the search on some CPU for another reason than taken registers; null where there was none. */
  readonly refusedBy: number | null;
}

const ENOSPC = 28;
/** More than any processor has. */
const MOST_REGISTERS = 16;
/** Any user address does: the probe is never enabled. */
const PROBE_ADDR = 0x1000n;

/** Counts the registers that are free now on each CPU by taking them, disabled, and giving them back. */
export function probeRegisters(cpus: readonly number[], wanted: number): FreeRegisters {
  const perCpu = new Map<number, number>();
  let refusedBy: number | null = null;
  for (const cpu of cpus) {
    using taken = new DisposableStack();
    let count = 0;
    while (count < Math.min(wanted, MOST_REGISTERS)) {
      const result = openWatchpoint(PROBE_ADDR, 8, WATCHPOINT.read_write, cpu);
      if (!result.ok) {
        if (result.errno !== ENOSPC) refusedBy = result.errno;
        break;
      }
      taken.use(result.event);
      count += 1;
    }
    perCpu.set(cpu, count);
  }
  return { count: Math.min(...perCpu.values(), wanted), perCpu, refusedBy };
}

export interface Tracer {
  readonly pid: number;
  /** Name of its command. */
  readonly comm: string;
  /** The process that it traces. */
  readonly traces: number;
}

const TRACER_LINE = /^TracerPid:\t(\d+)$/m;

/**
 * Processes that trace another now (debuggers, strace): candidates for the owners of taken registers, which the
 * kernel does not list.
 * @param pids whose tracers are asked for; all processes by default
 */
export function listTracers(pids?: readonly number[]): Tracer[] {
  const asked = pids ?? readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  const tracers: Tracer[] = [];
  for (const traces of asked) {
    try {
      const pid = Number(TRACER_LINE.exec(readFileSync(`/proc/${traces}/status`, "latin1"))?.[1] ?? 0);
      if (pid > 0) tracers.push({ pid, comm: readFileSync(`/proc/${pid}/comm`, "latin1").trim(), traces });
    } catch {
      // It ended while it was asked about: nothing to name.
    }
  }
  return tracers;
}
