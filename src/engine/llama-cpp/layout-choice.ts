/** By which offsets a library is read: its build's, those of its debugging data, or the newest that are known, which are tried. */
import type { EngineBuild } from "../engine.ts";
import type { BatchOffsets } from "../probing/capture-plan.ts";
import { isOfGgml, offsetsOfDebugData } from "./debug-offsets.ts";
import { KNOWN_BUILDS, type KnownBuild } from "./known-builds.ts";
import {
  BATCH,
  GGML_LAYOUT,
  type GgmlLayout,
  LLAMA_PARAMS,
  NEWEST_KNOWN,
  type Offsets,
  type ParamsLayout,
} from "./offsets.ts";

const GGML_LAYOUTS = { "ggml-0.25": GGML_LAYOUT } as const;
const PARAMS_LAYOUTS = { "llama.cpp-0.5": LLAMA_PARAMS } as const;

/** How the offsets were told to be a library's: its build is known, its debugging data has them, or nothing says it. */
export type LayoutEvidence = "build_id" | "soname" | "dwarf" | "checked";

export interface LayoutChoice {
  /** Name of the build where it is known. */
  readonly build: string | null;
  /** Null for a library of an unknown build that has no function which is handed structures of ggml. */
  readonly ggml: GgmlLayout | null;
  /** Null where the parameters' offsets are not known: they are left out then, never guessed. */
  readonly params: ParamsLayout | null;
  readonly batch: BatchOffsets;
  readonly evidence: LayoutEvidence;
  /** Why offsets were not taken from debugging data that was asked. */
  readonly refused: string | null;
}

/** The entry of a library; undefined for an unknown build. */
export function knownBuild(object: Pick<EngineBuild, "soname" | "buildId">): KnownBuild | undefined {
  return (
    KNOWN_BUILDS.find(({ buildId }) => buildId !== null && buildId === object.buildId) ??
    KNOWN_BUILDS.find(({ soname }) => soname !== null && soname === object.soname)
  );
}

/** Offsets for a library; every value that is read by them is checked anyway. */
export function chooseLayout(object: EngineBuild): LayoutChoice {
  const entry = knownBuild(object);
  const choice = { build: null, ggml: GGML_LAYOUT, params: null, batch: BATCH, refused: null };
  if (entry !== undefined) {
    return {
      ...choice,
      build: entry.build,
      ggml: GGML_LAYOUTS[entry.ggml],
      params: entry.params && PARAMS_LAYOUTS[entry.params],
      evidence: entry.buildId !== null && entry.buildId === object.buildId ? "build_id" : "soname",
    };
  }
  const { debugData = null } = object;
  if (debugData === null) return { ...choice, evidence: "checked" };
  const found = debugData.ok ? offsetsOfDebugData(debugData) : debugData.reason;
  if (found === null || typeof found === "string") {
    const ggml = isOfGgml(debugData.asked) ? choice.ggml : null;
    return { ...choice, ggml, evidence: "checked", refused: found };
  }
  return { ...choice, ...found, batch: found.batch ?? BATCH, evidence: "dwarf" };
}

/** By which offsets the probes of a library copy: where it has none of a structure, it has no probe that copies it. */
export function copiedBy({ ggml, params, batch }: LayoutChoice): Offsets {
  return { ggml: ggml ?? NEWEST_KNOWN.ggml, params: params ?? NEWEST_KNOWN.params, batch };
}

/** True where libraries of one process may be read by either: in all that they say they say the same. */
export function isSameLayout(one: GgmlLayout, other: GgmlLayout): boolean {
  const text = ({ tensor, graph, operations, copied }: GgmlLayout) =>
    JSON.stringify([tensor, graph, operations, copied]);
  const places = (layout: GgmlLayout) =>
    layout.buffers.map(({ context, size, usage }) => `${context}/${size}/${usage}`);
  return text(one) === text(other) && places(one).some((place) => places(other).includes(place));
}
