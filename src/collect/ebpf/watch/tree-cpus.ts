/** The CPUs that a process tree may use: those on which its watches hold registers. */
import { readdirSync } from "node:fs";
import { onlineCpus } from "../../../kernel/cpus.ts";
import { affinityCpus } from "../../../kernel/libc.ts";
import { treeOf } from "../../../target/tree.ts";

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    // It has ended: it needs no CPU any more.
    return [];
  }
}

/** CPUs that any thread of the tree may run on, ascending; empty where nobody says. */
export function treeAffinityCpus(root: number): number[] {
  return [...new Set([...treeOf(root)].flatMap(threadsOf).flatMap(affinityCpus))].sort((a, b) => a - b);
}

/** Those of some CPUs that are off line. */
export function cpusOffline(cpus: readonly number[]): number[] {
  const online = new Set(onlineCpus());
  return cpus.filter((cpu) => !online.has(cpu));
}

/** CPUs on which a thread of the tree may run by now and that are not among some; nobody is asked where these are all there are. */
export function treeCpusBeside(root: number, cpus: readonly number[]): number[] {
  const others = onlineCpus().filter((cpu) => !cpus.includes(cpu));
  if (others.length === 0) return [];
  const allowed = new Set(treeAffinityCpus(root));
  return others.filter((cpu) => allowed.has(cpu));
}
