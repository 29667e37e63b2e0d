/** Which builds of an engine ran: those of the files that take its batches, where these are known from the rest of it. */
import { detailOf } from "../../schema/step-detail.ts";
import type { StepRow } from "./step-row.ts";

/** The version that a library is known to be, and its build id; null where it is not known. */
export interface EngineBuild {
  readonly build: string | null;
  readonly build_id: string | null;
}

export interface EngineBuilds extends EngineBuild {
  /** All of them, where there are several: then no single one is told. */
  readonly builds?: readonly EngineBuild[];
}

/** A file without this call is a part of a build, such as the kernels for one kind of CPU, with a version of its own. */
const DECODES = "llama_decode";

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

const nameOf = ({ build, build_id }: EngineBuild): string => build ?? `${build_id}`;

/** Processes have libraries of one path each. */
const fileOf = (step: StepRow): string => `${step.pid}/${detailOf(step).path}`;

/** @param steps by which one engine was found, and those of its probes, in order of time */
export function engineBuilds(steps: readonly StepRow[]): EngineBuilds {
  const decoding = new Set(
    steps.flatMap((step) => {
      const { symbols } = detailOf(step);
      return step.kind === "probes" && Array.isArray(symbols) && symbols.includes(DECODES) ? [fileOf(step)] : [];
    }),
  );
  const found = steps.filter(({ kind }) => kind === "engine");
  const buildOf = (step: StepRow): EngineBuild => {
    const { build, build_id } = detailOf(step);
    return { build: textOf(build), build_id: textOf(build_id) };
  };
  const deciding = found.filter((step) => decoding.has(fileOf(step))).map(buildOf);
  if (!deciding.some(({ build }) => build !== null)) {
    return found.map(buildOf).find(({ build }) => build !== null) ?? { build: null, build_id: null };
  }
  const builds = [...new Map(deciding.map((one) => [nameOf(one), one])).values()].sort(
    (one, other) =>
      Number(one.build === null) - Number(other.build === null) ||
      nameOf(one).localeCompare(nameOf(other), "en", { numeric: true }),
  );
  const [only] = builds;
  return builds.length === 1 && only !== undefined ? only : { build: null, build_id: null, builds };
}
