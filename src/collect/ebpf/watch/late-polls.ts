/** Stretches in which the tracer did not come round to its watches: it waited for a CPU, or was stopped. */
import type { LatePolls } from "../../../schema/run-details.ts";
import { ATTENTIVE_MS } from "../part.ts";

export interface LateNotes {
  /** Takes note of a poll. @param cpuNs CPU time of this thread so far */
  polled(nowNs: bigint, cpuNs: number): void;
  soFar(): LatePolls;
}

/** Bounds what is written at the end, for which there is room on a full disk. */
const MOST_KEPT = 256;
/** The longest rest between two polls: the recorder keeps to the least patience of all parts. */
const MOST_REST_NS = 1e6 * ATTENTIVE_MS;

/** Who has a CPU soon after waking is late only where it may not run, as of a group whose share of the CPUs is used up, or stands still. */
const LEAST_LATE_PROMPT_NS = 20e6;
/** Where threads are more than CPUs each other one waits for tens of ms again and again: figures would be held back on every busy machine. */
const LEAST_LATE_NS = 100e6;

/**
 * A poll is late where it comes so long after the one before that neither the rest between them nor work of this thread explains it: what looks
 * take, of which watches are put off by design, is such work. A stretch lasts as long as the poll is late.
 * @param isPrompt true where this thread has a CPU soon after it wakes
 */
export function lateNotes(isPrompt: boolean): LateNotes {
  const least_ns = isPrompt ? LEAST_LATE_PROMPT_NS : LEAST_LATE_NS;
  const stretches: LatePolls["stretches"][number][] = [];
  let last: { readonly ns: bigint; readonly cpuNs: number } | null = null;
  let left_out = 0;
  let left_out_ns = 0;
  function keep(begin_ns: bigint, end_ns: bigint): void {
    if (stretches.length < MOST_KEPT) {
      stretches.push({ begin_ns, end_ns });
      return;
    }
    left_out += 1;
    left_out_ns += Number(end_ns - begin_ns);
  }
  return {
    polled(nowNs, cpuNs) {
      if (last !== null) {
        const lateNs = Number(nowNs - last.ns) - Math.max(0, cpuNs - last.cpuNs) - MOST_REST_NS;
        if (lateNs > least_ns) keep(nowNs - BigInt(Math.round(lateNs)), nowNs);
      }
      last = { ns: nowNs, cpuNs };
    },
    soFar: () => ({ stretches: [...stretches], left_out, left_out_ns }),
  };
}
