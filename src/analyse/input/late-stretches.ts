/** Stretches in which the tracer did not come round to its watches, as a run counts time. */
import type { LatePolls } from "../../schema/run-details.ts";

export interface LateStretches {
  /** Disjoint, in order, ns since the start of the run. */
  readonly stretches: readonly (readonly [begin_ns: number, end_ns: number])[];
  /** Time of those behind the last of these of which it is not known where they lie. */
  readonly left_out_ns: number;
}

export const lateSince = ({ stretches, left_out_ns }: LatePolls, origin_ns: bigint): LateStretches => ({
  stretches: stretches.map(
    ({ begin_ns, end_ns }) => [Number(begin_ns - origin_ns), Number(end_ns - origin_ns)] as const,
  ),
  left_out_ns,
});
