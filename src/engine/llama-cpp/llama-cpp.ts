/** llama.cpp and ggml, in one library, in several, or linked into a program that exports their symbols. */
import type { Engine } from "../engine.ts";
import { chooseLayout } from "./offsets.ts";
import { ENGINE_NAME, PROBE_POINTS, probesOf } from "./probes.ts";
import { processState } from "./process-state.ts";

export const llamaCpp: Engine = {
  name: ENGINE_NAME,
  programs: ["llama-server", "llama-cli", "llama-bench", "koboldcpp"],
  beforeSteps: "llama_init_from_model",
  symbols: PROBE_POINTS.map(({ symbol }) => symbol),
  probesOf,
  aboutBuild(build) {
    const { build: name, ggml, evidence } = chooseLayout(build);
    return { build: name, layout: ggml.name, layout_evidence: evidence };
  },
  follow: processState,
};
