/** Kinds of work of model servers and of other programs, described by somebody who had not seen what the figures are made by. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { adapters } from "./adapters.ts";
import { batches } from "./batches.ts";
import { observed } from "./counters.ts";
import { speculative } from "./drafts.ts";
import { experts } from "./experts.ts";
import { collector } from "./garbage-collector.ts";
import { mailboxes } from "./messages.ts";
import { rehash } from "./moved-table.ts";
import { pictures } from "./pictures.ts";
import { longPrefill } from "./prompt-amid-decoding.ts";
import { prefixCache } from "./shared-prefixes.ts";
import { slidingWindow } from "./sliding-window.ts";
import { stall } from "./stall.ts";
import { training } from "./training.ts";

export const SERVED_WORLDS: readonly WorldKind[] = [
  speculative,
  prefixCache,
  adapters,
  collector,
  mailboxes,
  longPrefill,
  stall,
  batches,
  experts,
  training,
  observed,
  pictures,
  rehash,
  slidingWindow,
];
