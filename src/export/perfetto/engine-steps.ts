/** What the engine of each process did: phases of the run, and every load, batch and graph. */
import { type Slot, timelineOf } from "../../label/timeline/phase.ts";
import { isBatch, isPrefill, type StepRow, stepRows } from "../../label/timeline/step-row.ts";
import type { ExportTask } from "../export-format.ts";
import { lanes } from "./lanes.ts";
import { type Annotation, words } from "./messages.ts";
import type { RunTimes } from "./run-times.ts";
import type { TraceWriter } from "./trace-writer.ts";

/** Neighbours of one phase as one. */
function phases(slots: readonly Slot[], end_ns: number): { phase: string; begin_ns: number; end_ns: number }[] {
  const found: { phase: string; begin_ns: number; end_ns: number }[] = [];
  for (const [i, { phase, begin_ns }] of slots.entries()) {
    const last = found.at(-1);
    const next = Math.min(end_ns, slots[i + 1]?.begin_ns ?? end_ns);
    if (last?.phase === phase) last.end_ns = next;
    else if (next > begin_ns) found.push({ phase, begin_ns: Math.max(0, begin_ns), end_ns: next });
  }
  return found;
}

function nameOf(step: StepRow): string {
  if (!isBatch(step) || step.kind === "encode") return step.kind;
  if (step.is_guess) return "guess";
  return isPrefill(step) ? "prefill" : "decode";
}

function aboutStep(step: StepRow): Annotation[] {
  const numbers = [
    ["n_tokens", step.n_tokens],
    ["n_sequences", step.n_sequences],
    ["position_first", step.position_first],
  ] as const;
  const about = numbers.flatMap(([name, value]) =>
    value === null ? [] : [{ name, uint_value: words(BigInt(value)) }],
  );
  return step.engine === null ? about : [...about, { name: "engine", string_value: step.engine }];
}

/** Writes a track of phases and one of steps for each process with an engine. */
export async function writeEngineSteps({ run, goOn }: ExportTask, writer: TraceWriter, times: RunTimes): Promise<void> {
  const steps = stepRows(run.rows("step"), times.origin_ns);
  await goOn(0, null);
  for (const [pid, slots] of timelineOf(steps)) {
    const track = writer.track(pid, "phase");
    for (const { phase, begin_ns, end_ns } of phases(slots, times.length_ns)) {
      track.slice(phase, times.absolute(begin_ns), times.absolute(end_ns));
    }
  }
  const tracks = new Map<number, ReturnType<typeof lanes>>();
  for (const [done, step] of steps.entries()) {
    const track = tracks.get(step.pid) ?? lanes(() => writer.track(step.pid, "engine steps"));
    tracks.set(step.pid, track);
    const end_ns = Math.min(step.end_ns, times.length_ns);
    track.slice(
      nameOf(step),
      times.absolute(step.begin_ns),
      times.absolute(Math.max(step.begin_ns, end_ns)),
      aboutStep(step),
    );
    if (done % 4096 === 0) await goOn(done, null);
  }
}
