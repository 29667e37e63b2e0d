/** Steps, KV rows and watches of a labelled run as the metrics read them. */

import { hasItsAccesses, type WatchHits } from "../../label/capture/watch-hits.ts";
import type { KvRows } from "../../label/kv/kv-lifecycle.ts";
import type { PlaceIndex } from "../../label/regions/place-index.ts";
import { type Regions, regionAt } from "../../label/regions/region-map.ts";
import { cutBatches, isBatch, isPrefill, type StepRow } from "../../label/timeline/step-row.ts";
import { wordsOf } from "../../schema/row.ts";
import { contextOf, draftGuesses, keptGuesses, surelyTaken } from "../../schema/step-detail.ts";
import type { RegionType, Step } from "../../schema/words.ts";
import { formatBytes } from "../../units.ts";
import type { StepSample, WatchSample } from "./input.ts";

const REGION_TYPES = wordsOf("region_map", "region_type");
const MODES: readonly string[] = wordsOf("watch", "mode");
const DESIGNS: readonly string[] = wordsOf("watch", "design");
const ENDINGS: readonly string[] = wordsOf("watch", "ended_by");

/** Batches that were carried out, without guesses that did not stay; one that had not returned ends with the run. */
export function stepSamples(steps: readonly StepRow[], windowNs: number): StepSample[] {
  const samples: StepSample[] = [];
  /** Place of the last batch of each context. */
  const lastOf = new Map<string, number>();
  let turn: Step = "prefill";
  const cut = cutBatches(steps);
  for (const step of steps) {
    const kept = step.kind === "kv_trim" ? keptGuesses(step) : 0;
    if (kept > 0) {
      const place = lastOf.get(`${step.pid}/${contextOf(step)}`) ?? -1;
      const drafted = samples[place];
      if (drafted) samples[place] = { ...drafted, n_tokens: drafted.n_tokens + kept };
    }
    if (!isBatch(step)) continue;
    const times = { begin_ns: step.begin_ns, end_ns: Math.min(step.end_ns, windowNs) };
    if (step.is_guess) {
      samples.push({ ...times, step: turn, n_tokens: 0, is_guess: true });
      continue;
    }
    turn = isPrefill(step) ? "prefill" : "decode";
    if (draftGuesses(step).size > 0) lastOf.set(`${step.pid}/${contextOf(step)}`, samples.length);
    const isCut = cut.has(step) ? ({ is_cut: true } as const) : {};
    samples.push({ ...times, step: turn, n_tokens: surelyTaken(step.n_tokens ?? 0, step), ...isCut });
  }
  return samples;
}

/** Why the engine's steps do not tell how often the rows of its cache are written; null where they do. */
export function kvWritesUntold({ contradicted, rowless_bytes }: KvRows): string | null {
  const rows = contradicted === 1 ? "1 row was" : `${contradicted} rows were`;
  if (contradicted > 0) return `${rows} seen written once more, of which the engine's steps do not tell`;
  return rowless_bytes > 0
    ? `${formatBytes(rowless_bytes)} of the cache hold a state of each sequence, not rows of tokens`
    : null;
}

export function regionTypeOf(name: string): RegionType {
  return REGION_TYPES.find((word) => word === name) ?? "unknown";
}

/** What cannot be a watch, or not all of it: a word that the schema does not have, or an end before the begin. */
function isSound(watch: WatchHits): boolean {
  const { row } = watch;
  const probability = row.inclusion_probability;
  return (
    MODES.includes(watch.mode) &&
    DESIGNS.includes(String(row.design)) &&
    ENDINGS.includes(String(row.ended_by)) &&
    watch.end_ns >= watch.begin_ns &&
    probability > 0 &&
    probability <= 1 &&
    hasItsAccesses(watch)
  );
}

/**
 * When the bytes of a watch went, or those of another class came where nothing lay as it began, ns; null where they stayed. What comes later was done to other memory.
 * @param row of the region that held them, below 0 where none did
 */
function untilNs(
  { pid, addr, hit_ns, row: drawn }: WatchHits,
  row: number,
  regions: Regions,
  index: PlaceIndex,
): number | null {
  const region = regionAt(regions, row);
  if (region !== undefined) return region.death_censored ? null : region.death_ns;
  for (const time of hit_ns) {
    const later = regionAt(regions, index.find(pid, Number(addr), time));
    if (later !== undefined && later.region_type !== drawn.region_type) return later.birth_ns;
  }
  return null;
}

/**
 * Watches with the class of the region that held their first byte when they were armed; where the map has none, the
 * class when drawn. Watches that cannot be, or lack accesses, are left out: `watches.length` less the result's is their number.
 */
export function watchSamples(watches: readonly WatchHits[], regions: Regions, index: PlaceIndex): WatchSample[] {
  return watches.filter(isSound).map((watch) => {
    const { row, hit_ns, hit_op } = watch;
    const found = index.find(watch.pid, Number(watch.addr), watch.begin_ns);
    const region = regionAt(regions, found);
    return {
      watch_id: watch.watch_id,
      pid: watch.pid,
      addr: watch.addr,
      size_bytes: row.size_bytes,
      mode: watch.mode as WatchSample["mode"],
      design: String(row.design) as WatchSample["design"],
      stratum: row.stratum,
      region_type: region?.region_type ?? regionTypeOf(String(row.region_type)),
      mapping_kind: region?.mapping_kind ?? null,
      tensor: region?.tensor ?? row.tensor,
      is_shared: region?.is_shared === true,
      stratum_bytes: Number(row.stratum_bytes),
      inclusion_probability: row.inclusion_probability,
      draw_weight: row.draw_weight,
      begin_ns: watch.begin_ns,
      end_ns: watch.end_ns,
      ended_by: String(row.ended_by) as WatchSample["ended_by"],
      trap_limit: row.trap_limit,
      dwell_limit_ns: Number(row.dwell_limit_ns),
      hit_ns,
      hit_op,
      region_death_ns: untilNs(watch, found, regions, index),
      ...(region?.has_left === true ? { is_moved: true } : {}),
      region_birth_ns: region?.birth_ns ?? 0,
    };
  });
}
