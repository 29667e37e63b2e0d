/** What hits of an engine's probes cost on this machine: their exceptions, and a program that finds no target. */
import type { BpfObject } from "../../kernel/bpf-object.ts";
import { monotonicNs } from "../../kernel/libc.ts";
import { openProbedCalls } from "../../kernel/probed-call.ts";
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
  const { path, carriedOut, stepped } = calls;
  const both = [carriedOut, stepped];
  const bare = both.map(({ call }) => medianNs(call));
  using links = new DisposableStack();
  const places = both.map(({ offset }) => ({ offset, cookie: 0n }));
  // Both by one link where there are such: to take one away takes as long as for all of its places.
  if (multi) links.use(linkUprobeMulti(entry.fd, { path, isReturn: false, places }));
  else for (const { offset } of places) links.use(entry.attachUprobe({ path, offset, pid: process.pid }));
  const [carried_ns = 0, stepped_ns = 0] = both.map(({ call }, i) => Math.max(0, medianNs(call) - (bare[i] ?? 0)));
  return { carried_ns, stepped_ns };
}
