/** Kinds of work whose memory is there for a step or a request. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { copiedCaches } from "./copied-caches.ts";
import { draftTrees } from "./draft-trees.ts";
import { fetchedExperts } from "./fetched-experts.ts";
import { gatheredBeams } from "./gathered-beams.ts";
import { layerOutputs } from "./layer-outputs.ts";
import { lentAdapters } from "./lent-adapters.ts";
import { longBatches } from "./long-batches.ts";
import { pagedBlocks } from "./paged-blocks.ts";
import { preemptedSequences } from "./preempted-sequences.ts";
import { repackedRows } from "./repacked-rows.ts";
import { resultsBetweenSteps } from "./results-between-steps.ts";
import { skipConnections } from "./skip-connections.ts";
import { stepGraphs } from "./step-graphs.ts";
import { streamedLayers } from "./streamed-layers.ts";
import { twoModels } from "./two-models.ts";
import { waitingResults } from "./waiting-results.ts";

export const BRIEF_WORLDS: readonly WorldKind[] = [
  pagedBlocks,
  copiedCaches,
  layerOutputs,
  streamedLayers,
  fetchedExperts,
  draftTrees,
  waitingResults,
  skipConnections,
  repackedRows,
  lentAdapters,
  preemptedSequences,
  stepGraphs,
  gatheredBeams,
  twoModels,
  longBatches,
  resultsBetweenSteps,
];
