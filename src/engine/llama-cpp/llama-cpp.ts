/** llama.cpp and ggml, in one library, in several, or linked into a program that exports their symbols. */
import type { Engine } from "../engine.ts";
import { structuresOf } from "./debug-offsets.ts";
import { chooseLayout, knownBuild } from "./layout-choice.ts";
import { ENGINE_NAME, hasOlderNames, PROBE_POINTS, probesOf, tellsPlaces } from "./probes.ts";
import { processState } from "./process-state.ts";

export const llamaCpp: Engine = {
  name: ENGINE_NAME,
  programs: ["llama-server", "llama-cli", "llama-bench", "koboldcpp"],
  beforeSteps: "llama_init_from_model",
  symbols: PROBE_POINTS.map(({ symbol }) => symbol),
  structuresOf: (object) => (knownBuild(object) === undefined ? structuresOf(object) : []),
  hasOlderNames,
  probesOf,
  tellsPlaces,
  aboutBuild(build) {
    const { build: name, ggml, evidence, refused } = chooseLayout(build);
    const about = { build: name, layout: ggml?.name ?? null, layout_evidence: evidence };
    if (evidence === "dwarf") return { ...about, debug_file: (build.debugData?.ok && build.debugData.path) || null };
    return refused === null ? about : { ...about, debug_data_refused: refused };
  },
  follow: (pid, builds, _, __, objectAt) => processState(pid, builds, objectAt),
};
