/** What watches are drawn from, listed anew when the map or the tensors changed, but not at every change. */
import type { LiveTensor } from "../../../../engine/engine.ts";
import { monotonicNs } from "../../../../kernel/libc.ts";
import type { MappingEvent } from "../../../../regions/mapping-row.ts";
import type { Scene } from "../../part.ts";
import { splitByHeat } from "../../samples/heat.ts";
import { rowsAhead } from "../ahead.ts";
import type { DrawRegion } from "../draw.ts";
import { drawRegions } from "./draw-regions.ts";
import { createEmptyParts } from "./empty-parts.ts";
import type { Residency } from "./residency.ts";

/** How long a list stays good while nothing changed, and how long whatever changed. */
const MAX_AGE_NS = 1_000_000_000n;
const MIN_AGE_NS = 100_000_000n;

export interface LiveRegions {
  /** Regions to draw from; the same list object as long as it is not made anew. */
  regions(): readonly DrawRegion[];
  /** Rows of the caches that the next tokens will write. */
  rowsAhead(): readonly DrawRegion[];
  /** Takes note that the map has changed. */
  changed(rows: readonly MappingEvent[]): void;
}

const NO_ENGINE = { liveTensors: () => [], kvHead: () => [], changes: () => 0 };

export function liveRegions(
  { mappings, engine, heat }: Pick<Scene, "mappings" | "engine" | "heat">,
  residency: Pick<Residency, "firstResident" | "forget">,
): LiveRegions {
  const tensors = engine ?? NO_ENGINE;
  const empty = createEmptyParts(residency);
  let listed: readonly DrawRegion[] = [];
  let listedNs = 0n;
  let listedChanges = -1;
  let isStale = true;
  let caches: readonly LiveTensor[] = [];
  let cachesChanges = -1;

  function cacheTensors(): readonly LiveTensor[] {
    if (cachesChanges === tensors.changes()) return caches;
    cachesChanges = tensors.changes();
    caches = tensors.liveTensors().filter((tensor) => tensor.region_type === "kv_cache");
    return caches;
  }

  return {
    regions() {
      const age = monotonicNs() - listedNs;
      const hasChanged = isStale || listedChanges !== tensors.changes();
      if (age <= MAX_AGE_NS && !(hasChanged && age > MIN_AGE_NS)) return listed;
      listedChanges = tensors.changes();
      isStale = false;
      const drawn = drawRegions(mappings.maps, tensors, empty);
      // Of a process in doubt nobody knows what is where until its map has been looked at.
      const sure = drawn.filter(({ pid }) => !mappings.maps.isDoubted(pid));
      listed = heat === null ? sure : splitByHeat(sure, heat);
      listedNs = monotonicNs();
      return listed;
    },
    rowsAhead: () => rowsAhead(tensors.kvHead(), cacheTensors()),
    changed(rows) {
      isStale ||= rows.some(({ kind }) => kind !== "madvise");
      for (const { kind, pid } of rows) if (kind === "exit" || kind === "exec") residency.forget(pid);
      const doubted = new Set(rows.flatMap(({ kind, pid }) => (kind === "lost" || kind === "other_call" ? [pid] : [])));
      if (doubted.size > 0) listed = listed.filter(({ pid }) => !doubted.has(pid));
    },
  };
}
