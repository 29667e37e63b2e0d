/** PyTorch: its forward passes by their lookups of embeddings; its weights by what its operators are given; it has no names for them. */
import type { Engine } from "../engine.ts";
import { forwardPasses } from "./forward-passes.ts";
import { ENGINE_NAME, probesOf, SYMBOLS } from "./probes.ts";

/** Builds whose structures were held against what torch itself says; the others are checked by the same rules. */
const BY_BUILD_ID: ReadonlyMap<string, string> = new Map([
  ["52c133b04b74777fc9c13ee0e808688c8a62214e", "torch 2.15.0"],
]);

export const pytorch: Engine = {
  name: ENGINE_NAME,
  programs: [],
  symbols: SYMBOLS,
  probesOf,
  aboutBuild: ({ buildId }) => ({ build: BY_BUILD_ID.get(buildId ?? "") ?? null, tells_tensors: false }),
  follow: (pid, _, nameAt, addressOf) => forwardPasses(pid, nameAt, addressOf),
};
