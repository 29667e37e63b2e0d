/** The spans of which counts are told: those of the figures, and the rest of the run, so that nothing is left out. */
import type { Timeline } from "../../label/timeline/phase.ts";
import { type OtherPhase, type Span, spanOf } from "./span.ts";

type Piece = [begin: number, end: number];

/** The same time in disjoint pieces, in order. */
function joined(pieces: readonly Piece[]): Piece[] {
  const out: Piece[] = [];
  for (const [begin, end] of [...pieces].sort((a, b) => a[0] - b[0])) {
    const last = out[out.length - 1];
    if (last !== undefined && begin <= last[1]) last[1] = Math.max(last[1], end);
    else if (end > begin) out.push([begin, end]);
  }
  return out;
}

/** What the pieces leave of [0, windowNs]. */
function between(pieces: readonly Piece[], windowNs: number): Piece[] {
  const out: Piece[] = [];
  let from = 0;
  for (const [begin, end] of joined(pieces)) {
    if (begin > from) out.push([from, begin]);
    from = Math.max(from, end);
  }
  if (from < windowNs) out.push([from, windowNs]);
  return out;
}

/** The times at which some process of the run is in a phase. */
function phasePieces(timeline: Timeline, phase: OtherPhase, windowNs: number): Piece[] {
  const pieces: Piece[] = [];
  for (const slots of timeline.values()) {
    slots.forEach((slot, i) => {
      if (slot.phase !== phase) return;
      const end = slots[i + 1]?.begin_ns ?? Number.POSITIVE_INFINITY;
      pieces.push([Math.max(0, slot.begin_ns), Math.min(windowNs, end)]);
    });
  }
  return joined(pieces);
}

const piecesOf = ({ begin_ns, end_ns }: Span): Piece[] =>
  Array.from(begin_ns, (begin, i): Piece => [begin, end_ns[i] ?? begin]);

/**
 * The whole run, then its phases and the steps of its generation. Idle is what no other phase has.
 * @param spans those of the figures, see `spansOf`
 * @param windowNs length of the run
 */
export function countedSpans(spans: readonly Span[], timeline: Timeline, windowNs: number): Span[] {
  const generation = spans.filter(({ phase }) => phase === "generation");
  const load = phasePieces(timeline, "weight_load", windowNs);
  const teardown = phasePieces(timeline, "teardown", windowNs);
  const whole = spanOf("all", "all", [[0, windowNs]]);
  const taken = [...load, ...teardown, ...generation.flatMap(piecesOf)];
  if (taken.length === 0) return [whole];
  const others = [
    spanOf("weight_load", "all", load),
    ...generation,
    spanOf("idle", "all", between(taken, windowNs)),
    spanOf("teardown", "all", teardown),
  ];
  return [whole, ...others.filter(({ begin_ns }) => begin_ns.length > 0)];
}
