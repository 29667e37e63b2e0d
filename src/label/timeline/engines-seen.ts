/** The engines of a run, as they told of themselves in the step stream. */
import { olderEngine } from "../capture/older-captures.ts";
import { detailOf, type StepRow } from "./step-row.ts";

export interface EngineSeen {
  readonly name: string;
  /** Files in which it was found, in order of time. */
  readonly objects: readonly string[];
  /** What it runs with, by names of its own; the last word of each. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Every engine that was recognised, in order of its first step. @param steps in order of time */
export function enginesSeen(steps: readonly StepRow[]): EngineSeen[] {
  const engineSteps = steps.filter(({ kind }) => kind === "engine");
  return [...Map.groupBy(engineSteps, ({ engine }) => engine)].map(([engine, stepsOfEngine]) => {
    const details = stepsOfEngine.map(detailOf);
    const paths = details.flatMap(({ path }) => (typeof path === "string" ? [path] : []));
    const objects = [...new Set(paths)];
    if (engine === null) return { objects, ...olderEngine(steps) };
    return { name: engine, objects, settings: Object.assign({}, ...details.map(({ settings }) => settings)) };
  });
}
