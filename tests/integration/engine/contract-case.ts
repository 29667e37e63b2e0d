/** What the contract test asks of one engine, and what several of its cases have in common. */
import { existsSync } from "node:fs";
import type { EngineRun, RunOptions } from "../../fixtures/engine-run.ts";

/** Of each step of a program the positions of its tokens, in order. */
export type Positions = readonly (readonly number[])[];

/** By name how many bytes, and where they lie if that is known. */
export type Places = Readonly<Record<string, { readonly addr?: number; readonly bytes: number }>>;

/** Attached before it begins or late; with nothing taken before its end, or nothing before the first record was lost. */
export type How = "whole" | "late" | "lossy" | "stalled";

export interface Case {
  /** Names of the tensors of its cache; of an engine that gives them none, what they are: `layer0.k`. */
  readonly caches: readonly string[];
  /** All of its weights, as the model's file or the program has them; none for a stand-in without weights. */
  readonly weights?: (run: EngineRun) => Places;
  /** Where its caches are, where the program says it. */
  readonly cachePlaces?: (run: EngineRun) => Places;
  /** Sequences that go on to the end of the program: all later steps read their rows; null where others begin. */
  readonly sequences: number | null;
  /** A program of at least so many steps. @param late whether it is attached to in its midst */
  run(steps: number, how: How): Promise<EngineRun>;
  stepsOf(steps: number): Positions;
  /** Steps behind which its records find no room where nobody takes them. */
  readonly tooMany: number;
  /** What it ends with, where it is not 0: a server knows no end but a signal. */
  readonly exitCode?: number;
}

export const later = async (): Promise<void> => Bun.sleep(250);
export function drainsOf(how: How): Pick<RunOptions, "drains"> {
  if (how === "lossy") return { drains: false };
  return how === "stalled" ? { drains: "once_lost" } : {};
}
export const optionsOf = (
  how: How,
  when: (pid: number) => Promise<void> = later,
): Pick<RunOptions, "when" | "drains"> => ({
  ...(how === "late" ? { when } : {}),
  ...drainsOf(how),
});
export const upTo = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);
export const ofEach = (sequences: number, positions: readonly number[]): number[] =>
  positions.flatMap((position) => Array.from({ length: sequences }, () => position));
export const ofLayers = (layers: number): string[] =>
  upTo(layers).flatMap((layer) => [`cache_k_l${layer}`, `cache_v_l${layer}`]);

/** Two prompts of five tokens in one step, and one more of each sequence in each later step. */
export const ofPairs = (steps: number): Positions => [
  ofEach(2, upTo(5)),
  ...upTo(steps - 1, 5).map((position) => [position, position]),
];

/** Waits for the mark of a program whose model is loaded. @throws Error where it ends before that */
export async function untilMarked(mark: string, pid: number): Promise<void> {
  while (!existsSync(mark)) {
    if (!existsSync(`/proc/${pid}`)) throw new Error("the program ended before its model was loaded");
    await Bun.sleep(50);
  }
}
