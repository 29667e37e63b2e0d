/** What one hit of an engine probe costs on this machine: its exceptions, and a program that finds no target. */
import type { BpfObject } from "../../kernel/bpf-object.ts";
import { monotonicNs } from "../../kernel/libc.ts";
import { openProbedCall } from "../../kernel/probed-call.ts";
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

/** Cost of one hit in ns, about 5 ms to measure; null where it cannot be measured. */
export function measureProbeNs(object: BpfObject, program: string, multi: boolean): number | null {
  using ownCall = openProbedCall();
  if (ownCall === null) return null;
  const entry = object.program(program);
  const bare = medianNs(ownCall.call);
  using _link = multi
    ? linkUprobeMulti(entry.fd, { path: ownCall.path, isReturn: false, places: [{ offset: 0n, cookie: 0n }] })
    : entry.attachUprobe({ path: ownCall.path, offset: 0n, pid: process.pid });
  return Math.max(0, medianNs(ownCall.call) - bare);
}
