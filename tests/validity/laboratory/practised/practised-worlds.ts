/** Kinds of work from practice and from the mathematics of events in time, described by somebody who had not seen what the figures are made by. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { beams } from "./beam-search.ts";
import { log } from "./commit-log.ts";
import { contagious } from "./contagion.ts";
import { days } from "./days-and-nights.ts";
import { flicker } from "./flicker.ts";
import { graph } from "./graph-search.ts";
import { heartbeats } from "./heartbeats.ts";
import { harvest } from "./late-harvest.ts";
import { retries } from "./lock-retries.ts";
import { merges } from "./merged-store.ts";
import { crest } from "./moving-crest.ts";
import { popular } from "./popular-values.ts";
import { rollouts } from "./rollouts.ts";
import { objects } from "./short-and-long-lives.ts";
import { snapshots } from "./snapshots.ts";
import { speech } from "./speech.ts";
import { swaps } from "./swapped-pictures.ts";
import { warming } from "./warming-code.ts";

export const PRACTISED_WORLDS: readonly WorldKind[] = [
  flicker,
  contagious,
  crest,
  log,
  swaps,
  warming,
  harvest,
  popular,
  objects,
  retries,
  heartbeats,
  snapshots,
  graph,
  merges,
  days,
  rollouts,
  beams,
  speech,
];
