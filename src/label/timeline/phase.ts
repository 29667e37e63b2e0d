/**
 * Phase, step and token of every moment of a process, from what its engine did.
 *
 * weight_load: the first model_load of a load to the end of the last context made before the next batch.
 * generation: batches, and the gaps between them of at most one second (sampling, detokenising, guesses of a draft model).
 * teardown: from the first free after the last batch and load. idle: everything else.
 */
import type { Phase, Step } from "../../schema/words.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import { isBatch, isPrefill, isTurn, type StepRow } from "./step-row.ts";

/** What is true from `begin_ns` to the begin of the next slot of the process. */
export interface Slot {
  readonly begin_ns: number;
  readonly phase: Phase;
  readonly step: Step | null;
  /** Decode steps of the run, from 0; null outside them. */
  readonly token_index: number | null;
  /** Tokens in the context after the step, where one sequence is in the batch. */
  readonly context_tokens: number | null;
}

/** Slots of each process that has an engine, in order of time; the first begins at -Infinity. */
export type Timeline = ReadonlyMap<number, readonly Slot[]>;

/** A pause longer than this between two batches is idle time, ns. */
export const GENERATION_GAP_NS = 1e9;

interface Span extends Slot {
  readonly end_ns: number;
}

const FREES = new Set(["model_free", "context_free"]);
const LOADS = new Set(["model_load", "context"]);
const IDLE = { phase: "idle", step: null, token_index: null, context_tokens: null } as const;

/** Ends that never came are cut at the next row of the process. */
function closed(steps: readonly StepRow[]): StepRow[] {
  return steps.map((step, index) => {
    if (Number.isFinite(step.end_ns)) return step;
    return { ...step, end_ns: steps[index + 1]?.begin_ns ?? Number.POSITIVE_INFINITY };
  });
}

function loadSpans(steps: readonly StepRow[]): Span[] {
  const spans: Span[] = [];
  let begin: number | null = null;
  let end = 0;
  const close = () => {
    if (begin !== null) spans.push({ ...IDLE, phase: "weight_load", begin_ns: begin, end_ns: end });
    begin = null;
  };
  for (const step of steps) {
    if (LOADS.has(step.kind)) {
      begin ??= step.begin_ns;
      end = Math.max(end, step.end_ns);
    } else if (isBatch(step)) close();
  }
  close();
  return spans;
}

function contextTokens(step: StepRow): number | null {
  if (step.position_first === null || (step.n_sequences ?? 1) > 1) return null;
  return step.position_first + (step.n_tokens ?? 0);
}

function generationSpans(steps: readonly StepRow[], tokenOf: ReadonlyMap<StepRow, number>): Span[] {
  const spans: Span[] = [];
  let previousEnd = Number.NEGATIVE_INFINITY;
  let loadedSince = false;
  for (const step of steps) {
    if (LOADS.has(step.kind)) loadedSince = true;
    if (!isTurn(step)) continue;
    const gap = step.begin_ns - previousEnd;
    if (!loadedSince && gap > 0 && gap <= GENERATION_GAP_NS) {
      spans.push({ ...IDLE, phase: "generation", begin_ns: previousEnd, end_ns: step.begin_ns });
    }
    spans.push({
      begin_ns: step.begin_ns,
      end_ns: step.end_ns,
      phase: "generation",
      step: isPrefill(step) ? "prefill" : "decode",
      token_index: tokenOf.get(step) ?? null,
      context_tokens: contextTokens(step),
    });
    previousEnd = Math.max(previousEnd, step.end_ns);
    loadedSince = false;
  }
  return spans;
}

function teardownSpans(steps: readonly StepRow[]): Span[] {
  let begin: number | null = null;
  for (const step of steps) {
    if (FREES.has(step.kind)) begin ??= step.begin_ns;
    else if (isBatch(step) || LOADS.has(step.kind)) begin = null;
  }
  if (begin === null) return [];
  return [{ ...IDLE, phase: "teardown", begin_ns: begin, end_ns: Number.POSITIVE_INFINITY }];
}

/** Spans as slots without overlap; the earlier span keeps the time that two of them claim, gaps are idle. */
function slotsOf(spans: readonly Span[]): Slot[] {
  const slots: Slot[] = [];
  let done = Number.NEGATIVE_INFINITY;
  for (const span of [...spans].sort((left, right) => left.begin_ns - right.begin_ns)) {
    const begin = Math.max(span.begin_ns, done);
    if (!(begin < span.end_ns)) continue;
    if (begin > done) slots.push({ ...IDLE, begin_ns: done });
    const { end_ns, ...slot } = span;
    slots.push({ ...slot, begin_ns: begin });
    done = end_ns;
  }
  if (done < Number.POSITIVE_INFINITY) slots.push({ ...IDLE, begin_ns: done });
  return slots;
}

/** Decode steps of the run in order of time, numbered from 0. */
function tokenNumbers(steps: readonly StepRow[]): Map<StepRow, number> {
  const numbers = new Map<StepRow, number>();
  for (const step of [...steps].sort((left, right) => left.begin_ns - right.begin_ns)) {
    if (isTurn(step) && !isPrefill(step)) numbers.set(step, numbers.size);
  }
  return numbers;
}

/** The timeline of every process with a load or a batch. `steps` are in order of their begin. */
export function timelineOf(steps: readonly StepRow[]): Timeline {
  const ofPid = new Map<number, StepRow[]>();
  for (const step of steps) {
    const list = ofPid.get(step.pid);
    if (list === undefined) ofPid.set(step.pid, [step]);
    else list.push(step);
  }
  const endedOf = [...ofPid]
    .filter(([, processSteps]) => processSteps.some((step) => LOADS.has(step.kind) || isBatch(step)))
    .map(([pid, stepsOfProcess]) => [pid, closed(stepsOfProcess)] as const);
  const tokens = tokenNumbers(endedOf.flatMap(([, processSteps]) => processSteps));
  const timeline = new Map<number, Slot[]>();
  for (const [pid, processSteps] of endedOf) {
    timeline.set(
      pid,
      slotsOf([...loadSpans(processSteps), ...generationSpans(processSteps, tokens), ...teardownSpans(processSteps)]),
    );
  }
  return timeline;
}

/** Index of the slot that holds a moment; the slots begin at -Infinity. */
export function slotAt(slots: readonly Slot[], time_ns: number): number {
  return firstIndex(slots.length, (i) => (slots[i] as Slot).begin_ns <= time_ns) - 1;
}

/** Phase of a process at a moment; null for a process without an engine. */
export function phaseAt(timeline: Timeline, pid: number, time_ns: number): Phase | null {
  const slots = timeline.get(pid);
  return slots?.[slotAt(slots, time_ns)]?.phase ?? null;
}
