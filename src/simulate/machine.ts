/** A machine without hardware: registers over the words of a world, in a time of its own. */

import type { DecodedAccess } from "../code/trap-operation.ts";
import type { WatchSpec } from "../collect/ebpf/watch/arm.ts";
import type { Trap } from "../collect/ebpf/watch/traps.ts";
import type { WatchMachine } from "../collect/ebpf/watch/watch-machine.ts";
import { OP } from "../schema/operation.ts";
import { ROLE } from "../schema/shared-numbers.ts";
import { countBelow } from "../statistics/first-index.ts";
import { isWrite } from "./word-times.ts";
import type { Policy, WordTrace, World, WorldStratum } from "./world.ts";

export const PID = 1;
/** Strata lie this far apart. */
const STRATUM_BYTES = 1n << 42n;
export const addrOf = (place: number, word: number): bigint => BigInt(place + 1) * STRATUM_BYTES + BigInt(8 * word);

/** The place of an address of the world, as `WorldStratum` has it. */
export const placeOf = (addr: bigint): number => Number(addr / STRATUM_BYTES) - 1;

/** The strata that lie at each place, in the order of the world. */
export function strataByPlace(strata: World["strata"]): (place: number) => readonly WorldStratum[] {
  const places = Map.groupBy(strata.entries(), ([i, { place }]) => place ?? i);
  const lists = new Map([...places].map(([place, list]) => [place, list.map(([, stratum]) => stratum)] as const));
  return (place) => lists.get(place) ?? [];
}

/** All that happens at one address: to one memory after the other. */
function traceOf(parts: readonly WordTrace[]): WordTrace | undefined {
  if (parts.length < 2) return parts[0];
  const count = parts.reduce((sum, { time_ns }) => sum + time_ns.length, 0);
  const time_ns = new Float64Array(count);
  const op = new Uint8Array(count);
  const cpu = new Uint8Array(count);
  let filled = 0;
  for (const part of parts) {
    time_ns.set(part.time_ns, filled);
    op.set(part.op, filled);
    if (part.cpu !== undefined) cpu.set(part.cpu, filled);
    filled += part.time_ns.length;
  }
  // Lives at one place mostly follow each other in the order of the world.
  if (time_ns.every((time, i) => i === 0 || (time_ns[i - 1] ?? 0) <= time)) return { time_ns, op, cpu };
  const order = Uint32Array.from(time_ns.keys()).sort((a, b) => (time_ns[a] ?? 0) - (time_ns[b] ?? 0));
  return {
    time_ns: Float64Array.from(order, (i) => time_ns[i] ?? 0),
    op: Uint8Array.from(order, (i) => op[i] ?? 0),
    cpu: Uint8Array.from(order, (i) => cpu[i] ?? 0),
  };
}

/** Debug registers of an x86-64 CPU. */
export const REGISTERS = 4;
const OPS: Record<number, DecodedAccess["op"]> = {
  [OP.load]: "load",
  [OP.store]: "store",
  [OP.load_store]: "load_store",
};

interface Armed {
  readonly spec: WatchSpec;
  readonly trace: WordTrace;
  next: number;
  hits: number;
  /** CPUs whose registers have not stopped. */
  readonly on: Set<number>;
}

/** @returns the machine, and its clock to be set before each poll */
export function simulatedMachine(
  world: World,
  policy: Policy,
): WatchMachine & { setNow(ns: number): void; held(): number } {
  let now = 0;
  let generation = 0;
  const cpus = Array.from({ length: world.cpus ?? 1 }, (_, cpu) => cpu);
  /** Traps since they were last taken, and those of them beyond the limit of a watch, by CPU. */
  const traps = cpus.map(() => 0);
  const beyond = cpus.map(() => 0);
  let rows = 0;
  let dropped = 0;
  let held = 0;
  const strataAt = strataByPlace(world.strata);
  const traces = new Map<bigint, WordTrace>();
  const armed = new Map<number, Armed>();
  /** Traps of watches that were taken out since the last reading. */
  let last: { readonly generation: number; readonly trap: Trap }[] = [];

  function traceAt(addr: bigint): WordTrace {
    const word = Number((addr % STRATUM_BYTES) / 8n);
    const parts = strataAt(placeOf(addr)).flatMap(({ words }) => words[word % words.length] ?? []);
    const trace = traces.get(addr) ?? traceOf(parts);
    if (trace === undefined) throw new Error(`no word at ${addr}`);
    if (parts.length > 1) traces.set(addr, trace);
    return trace;
  }

  const isLost = (time: number): boolean => world.lost_ns?.some(([begin, end]) => time >= begin && time < end) ?? false;

  /** The traps of one watch up to now. */
  function* run(one: Armed): Generator<Trap> {
    const { trace, spec } = one;
    while (one.on.size > 0 && one.next < trace.time_ns.length && (trace.time_ns[one.next] ?? 0) <= now) {
      const i = one.next++;
      const cpu = trace.cpu?.[i] ?? 0;
      const writes = isWrite(trace.op[i]);
      if (!one.on.has(cpu) || (spec.mode === "w" && !writes)) continue;
      traps[cpu] = (traps[cpu] ?? 0) + 1;
      // A register stops itself at its own next trap, once the limit is reached.
      if (one.hits + 1 >= spec.trapLimit) one.on.delete(cpu);
      if (one.hits >= spec.trapLimit) {
        beyond[cpu] = (beyond[cpu] ?? 0) + 1;
        continue;
      }
      one.hits += 1;
      const trap = (role: number): Trap => ({
        timeNs: BigInt(Math.round(trace.time_ns[i] ?? 0)),
        ip: BigInt(trace.op[i] ?? 0),
        registerSi: 0n,
        registerDi: 0n,
        tid: PID + cpu,
        cpu,
        role,
        inKernel: false,
      });
      const roles = spec.mode !== "pair" ? [ROLE.single] : writes ? [ROLE.pair_w, ROLE.pair_rw] : [ROLE.pair_rw];
      if (isLost(trace.time_ns[i] ?? 0)) dropped += roles.length;
      else for (const role of roles) yield trap(role);
    }
  }

  return {
    setNow(ns) {
      now = ns;
    },
    cpus,
    widen() {},
    narrow() {},
    calibration: {
      trapNs: policy.trap_ns,
      warmTrapNs: policy.trap_ns,
      retargetNs: policy.retarget_ns,
      measured: true,
      whyAssumed: null,
      countsEveryTrap: false,
      traps: 0,
      retargets: 0,
      ...(world.copies === undefined ? {} : { copies: { page: world.copies.times, large: world.copies.times } }),
    },
    held: () => held,
    registers: {
      count: REGISTERS,
      miss() {},
      lookAgain: () => false,
      summary: () => ({ wanted: REGISTERS, free_at_start: REGISTERS, least: REGISTERS, candidates: [] }),
    },
    giveBack: () => false,
    isReady: () => true,
    nowNs: () => BigInt(Math.round(now)),
    // Its policy takes no time.
    cpuNs: () => 0,
    nextGeneration: () => ++generation,
    arm(spec) {
      const trace = traceAt(spec.addr);
      const one: Armed = { spec, trace, next: 0, hits: 0, on: new Set() };
      armed.set(spec.slot, one);
      held += 1;
      const disarm = (): bigint => {
        last.push(...[...run(one)].map((trap) => ({ generation: spec.generation, trap })));
        one.on.clear();
        held -= 1;
        return BigInt(Math.round(now));
      };
      const letGo = (): void => {
        one.next = countBelow(trace.time_ns, now);
        for (const cpu of cpus) one.on.add(cpu);
      };
      return { ok: true, watch: { registers: cpus.length, retries: 0, letGo, expose() {}, disarm } };
    },
    begin(watches) {
      for (const { letGo } of watches) letGo();
      return BigInt(Math.round(now));
    },
    state(slot) {
      const one = armed.get(slot);
      return {
        hits: one?.hits ?? 0,
        continued: 0,
        foreign: 0,
        kernel: 0,
        early: 0,
        probed: 0,
        probedNs: 0n,
        foreignStopNs: 0n,
      };
    },
    takeTraps(cpu) {
      const taken = { traps: traps[cpu] ?? 0, stale: 0, foreign: 0, early: 0, beyond: beyond[cpu] ?? 0, probed: 0 };
      traps[cpu] = 0;
      beyond[cpu] = 0;
      return taken;
    },
    drain(take) {
      const seen = last;
      last = [];
      for (const one of armed.values())
        for (const trap of run(one)) seen.push({ generation: one.spec.generation, trap });
      rows += seen.length;
      // Each CPU has a ring of its own, which are read one after the other.
      if (cpus.length > 1) seen.sort((a, b) => a.trap.cpu - b.trap.cpu);
      for (const { generation: watch, trap } of seen) take(watch, trap);
    },
    rowsRead: () => rows,
    ledger: (place) => [
      {
        ...place,
        pid: null,
        seen: rows + dropped,
        kept: rows,
        filtered: 0,
        dropped,
        dropped_by: { ring_full: dropped },
        unseen_estimate: null,
      },
    ],
    decode: ({ ip }) => ({ op: OPS[Number(ip)] ?? "unknown", evidence: "decoded", repeated: false }),
    learn() {},
    forget() {},
    [Symbol.dispose]() {},
  };
}
