/** What watches are drawn from, listed anew when the map or the tensors changed, as often as that costs next to nothing. */
import type { LiveTensor } from "../../../../engine/engine.ts";
import { monotonicNs } from "../../../../kernel/libc.ts";
import type { MappingEvent } from "../../../../regions/mapping-row.ts";
import type { Scene } from "../../part.ts";
import { rowsAhead } from "../ahead.ts";
import type { DrawRegion } from "../draw.ts";
import { type Bands, drawRegions } from "./draw-regions.ts";
import { createEmptyParts } from "./empty-parts.ts";
import type { Residency } from "./residency.ts";
import { type BandPiece, reuseBands } from "./reuse-bands.ts";

/** How long a list stays good while nothing changed. */
const MAX_AGE_NS = 1_000_000_000n;
/**
 * A list that changed is made anew after so many times as long as it took to make: memory that came since is not drawn, so what
 * lives for less would hardly be seen. A long list of a process that maps without end rests for longer, but not for more than this.
 */
const REST = 10n;
const MOST_REST_NS = 100_000_000n;

export interface LiveRegions {
  /** Regions to draw from; the same list object as long as it is not made anew. */
  regions(): readonly DrawRegion[];
  /** Rows of the caches that the next tokens will write. */
  rowsAhead(): readonly DrawRegion[];
  /** Up to when the list knows what came and went: `nowNs`, or the first change that it lacks. */
  knownUntilNs(nowNs: bigint): bigint;
  /** Takes note that the map has changed. */
  changed(rows: readonly MappingEvent[]): void;
}

/** Rows behind which the map is as it was before. */
const UNCHANGING: ReadonlySet<MappingEvent["kind"]> = new Set(["madvise", "gguf"]);
const NO_ENGINE = { liveTensors: () => [], kvHead: () => [], changes: () => 0 };

export function liveRegions(
  { mappings, engine, heat }: Pick<Scene, "mappings" | "engine" | "heat">,
  residency: Pick<Residency, "firstResident" | "forget">,
  nowNs = monotonicNs,
): LiveRegions {
  const tensors = engine ?? NO_ENGINE;
  const empty = createEmptyParts(residency, nowNs);
  let listed: readonly DrawRegion[] = [];
  let listedNs = 0n;
  let restNs = 0n;
  let listedChanges = -1;
  let isStale = true;
  let lacksSinceNs: bigint | null = null;
  let caches: readonly LiveTensor[] = [];
  let cachesChanges = -1;
  const banded = new Map<number, readonly BandPiece[]>();
  let bandedChanges = -1;

  /** Graphs have thousands of tensors, which stay while mappings come and go. */
  const bandsOf: Bands = (pid, activations) => {
    if (bandedChanges !== listedChanges) banded.clear();
    bandedChanges = listedChanges;
    const bands = banded.get(pid) ?? reuseBands(activations());
    banded.set(pid, bands);
    return bands;
  };

  function cacheTensors(): readonly LiveTensor[] {
    if (cachesChanges === tensors.changes()) return caches;
    cachesChanges = tensors.changes();
    caches = tensors.liveTensors().filter((tensor) => tensor.region_type === "kv_cache");
    return caches;
  }

  return {
    regions() {
      const beginNs = nowNs();
      const age = beginNs - listedNs;
      const hasChanged = isStale || listedChanges !== tensors.changes();
      if (age <= MAX_AGE_NS && !(hasChanged && age >= restNs)) return listed;
      listedChanges = tensors.changes();
      isStale = false;
      lacksSinceNs = null;
      const drawn = drawRegions(mappings.maps, tensors, empty, bandsOf);
      // Of a process in doubt nobody knows what is where until its map has been looked at.
      const sure = drawn.filter(({ pid }) => !mappings.maps.isDoubted(pid));
      listed = heat === null ? sure : heat.split(sure);
      listedNs = nowNs();
      const rest = REST * (listedNs - beginNs);
      restNs = rest < MOST_REST_NS ? rest : MOST_REST_NS;
      return listed;
    },
    rowsAhead: () => rowsAhead(tensors.kvHead(), cacheTensors()),
    knownUntilNs: (now) => (lacksSinceNs !== null && lacksSinceNs < now ? lacksSinceNs : now),
    changed(rows) {
      const first = rows.find(({ kind }) => !UNCHANGING.has(kind));
      isStale ||= first !== undefined;
      lacksSinceNs ??= first?.timestamp_ns ?? null;
      for (const { kind, pid } of rows) if (kind === "exit" || kind === "exec") residency.forget(pid);
      const doubted = new Set(rows.flatMap(({ kind, pid }) => (kind === "lost" || kind === "other_call" ? [pid] : [])));
      if (doubted.size > 0) listed = listed.filter(({ pid }) => !doubted.has(pid));
    },
  };
}
