/** What an engine says of its caches as it begins: how many its layers have, and whether blocks are found again by their prefix. */
import { detailOf } from "../../schema/step-detail.ts";
import type { StepRow } from "../timeline/step-row.ts";
import { type CacheLists, cacheLists } from "./window-caches.ts";

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

export interface CacheSettings {
  /** Most caches that the engine says its layers have; 0 where it says of none. With one, what a layer writes holds for all. */
  readonly caches: number;
  /** The layers of each, by the graphs that have several. */
  readonly lists: readonly CacheLists[];
  /** Whether full blocks can be found by their prefix when their sequence has ended; null where it does not say. */
  readonly keepsPrefixes: boolean | null;
}

/** @param steps of one engine in one process */
export function settingsOf(steps: readonly StepRow[]): CacheSettings {
  let caches = 0;
  const lists: CacheLists[] = [];
  let keepsPrefixes: boolean | null = null;
  for (const step of steps) {
    if (step.kind !== "engine") continue;
    const { settings } = detailOf(step);
    if (typeof settings !== "object" || settings === null) continue;
    if ("kv_caches" in settings && isWhole(settings.kv_caches)) caches = Math.max(caches, settings.kv_caches);
    const layers = cacheLists(settings);
    if (layers !== null) lists.push(layers);
    if ("prefix_caching" in settings && typeof settings.prefix_caching === "boolean") {
      keepsPrefixes = settings.prefix_caching;
    }
  }
  return { caches, lists, keepsPrefixes };
}

/** Whether the blocks that a step gives out again could be found by their prefix until then; null where that is not known. */
export function leftPrefixCache(step: StepRow, keepsPrefixes: boolean | null): boolean | null {
  const { full_blocks } = detailOf(step);
  if (typeof full_blocks !== "boolean") return null;
  return full_blocks ? keepsPrefixes : false;
}
