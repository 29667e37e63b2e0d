/** What hits of an engine's probes cost on this machine: their exceptions, and a program that finds no target. */
import type { BpfObject } from "../../kernel/bpf-object.ts";
import { monotonicNs } from "../../kernel/libc.ts";
import { openProbedCalls, type ProbedCall } from "../../kernel/probed-call.ts";
import { linkUprobeMulti } from "../../kernel/uprobe-multi.ts";

const CALLS = 50;
const BLOCKS = 7;

function callsNs(call: () => void): number {
  const begin = monotonicNs();
  for (let i = 0; i < CALLS; i++) call();
  return Number(monotonicNs() - begin) / CALLS;
}

/** Median over blocks, so that a preempted one does not count. */
function medianNs(call: () => void): number {
  const blocks = Array.from({ length: BLOCKS }, () => callsNs(call)).sort((a, b) => a - b);
  return blocks[BLOCKS >> 1] ?? 0;
}

/** What a hit costs, in ns: where the kernel carries out what the probe replaced, and where the processor steps over it. */
export interface ProbeCost {
  readonly carried_ns: number;
  readonly stepped_ns: number;
}

/** What hits cost on the mean, in ns. */
export function meanHitNs({ carried_ns, stepped_ns }: ProbeCost, hits: number, stepped: number): number {
  return hits > 0 ? ((hits - stepped) * carried_ns + stepped * stepped_ns) / hits : carried_ns;
}

/** Cost of hits, about 10 ms to measure; null where it cannot be measured. */
export function measureProbeCost(object: BpfObject, program: string, multi: boolean): ProbeCost | null {
  using calls = openProbedCalls();
  if (calls === null) return null;
  const entry = object.program(program);
  const { path } = calls;
  const costOf = ({ offset, call }: ProbedCall): number => {
    const bare = medianNs(call);
    using _link = multi
      ? linkUprobeMulti(entry.fd, { path, isReturn: false, places: [{ offset, cookie: 0n }] })
      : entry.attachUprobe({ path, offset, pid: process.pid });
    return Math.max(0, medianNs(call) - bare);
  };
  return { carried_ns: costOf(calls.carriedOut), stepped_ns: costOf(calls.stepped) };
}
