/** Streams of a recording that say nothing true without each other. */
import type { StreamName } from "../schema/columns.ts";

/**
 * Each closes its segments together, and puts first in place what the others need: a watch without its accesses would
 * be one that saw none, a batch without the tensors that it reads one of no model.
 */
export const STREAM_GROUPS: readonly (readonly StreamName[])[] = [
  ["access", "watch"],
  ["tensor", "step"],
];
