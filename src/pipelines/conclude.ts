/** The end of a run, however it was recorded: what it was worth, and everything that is derived from it. */
import { cpus } from "node:os";
import type { Progress } from "../report/progress.ts";
import { writeFacts } from "../run-directory/facts.ts";
import type { Derived } from "./derive.ts";
import { factsOfRun, type JudgeInput } from "./run-facts.ts";

/** What a run knows at its end, without the number of CPUs, which is looked up here. */
type RunEnd = Omit<JudgeInput, "cpus">;

/**
 * Judges a recording, writes its facts and derives all files of the run directory.
 * @throws MrmTraceError environment or failure; its `runDir` names what was left
 */
export async function conclude(circumstances: RunEnd, progress: Progress): Promise<Derived> {
  const { recording, directory } = circumstances;
  const facts = factsOfRun({ ...circumstances, cpus: cpus().length });
  try {
    writeFacts(directory.heldPath, facts);
    progress.update({ phase: "analysing", tokens: 0, events: 0, lost: 0, share: null });
    // Loaded only now: what analyses takes memory that the tracer does not need while it records.
    const { derive } = await import("./derive.ts");
    const derived = await derive(directory, facts);
    if (recording.writeError) throw recording.writeError;
    return derived;
  } catch (error) {
    // What fails on a disk that was full before fails because of that.
    throw withRunDir(recording.writeError ?? error, directory.path);
  } finally {
    progress.clear();
  }
}

/** The error, naming the run directory that holds what was measured before it. */
function withRunDir(error: unknown, runDir: string): unknown {
  return error instanceof Error ? Object.assign(error, { runDir }) : error;
}
