/** The region map: every byte that a process had, over its life, once, with what it is and how that is known. */
import type { MappingRow } from "../../regions/mapping-row.ts";
import type { TensorLifetime } from "../../regions/tensor-map.ts";
import { phaseAt, type Timeline } from "../timeline/phase.ts";
import { type EngineRegion, engineRegions } from "./engine-regions.ts";
import { classifyMapping, type Verdict } from "./evidence.ts";
import { type Place, placeIndex } from "./place-index.ts";
import { type Extent, uncovered } from "./uncovered.ts";

/** One region and lifetime; times as ns since the origin, `end` exclusive. */
export interface Region extends Place, Verdict {
  /** From 1, in order of process, address and birth. */
  readonly region_id: number;
  readonly exec_epoch: number;
  readonly addr: bigint;
  readonly size_bytes: number;
  readonly mapping_kind: string | null;
  /** The file that is mapped there; null for any other kind of mapping. */
  readonly file: string | null;
  readonly name: string | null;
  readonly tensor: string | null;
  readonly logical_id: string | null;
  readonly layer: number | null;
  readonly birth_censored: boolean;
  readonly death_censored: boolean;
  readonly candidates: readonly string[];
}

export interface RegionInputs {
  readonly mappings: readonly MappingRow[];
  readonly tensors: readonly TensorLifetime[];
  readonly timeline: Timeline;
  /** Processes in which an engine was recognised. */
  readonly enginePids: ReadonlySet<number>;
  /** Processes in which it loaded a model or computed. */
  readonly workedPids: ReadonlySet<number>;
  readonly originNs: bigint;
  /** End of the run, ns since the origin: what lives longer is censored there. */
  readonly windowNs: number;
}

interface MappingPlace extends Extent {
  readonly pid: number;
  readonly row: MappingRow;
}

type Unnumbered = Omit<Region, "region_id">;

function mappingPlaces(mappings: readonly MappingRow[], originNs: bigint): MappingPlace[] {
  return mappings.map((row) => ({
    pid: row.pid,
    begin: Number(row.addr),
    end: Number(row.addr + row.size_bytes),
    birth_ns: Number(row.since_ns - originNs),
    death_ns: row.death_ns === null ? Number.POSITIVE_INFINITY : Number(row.death_ns - originNs),
    row,
  }));
}

function groupByPid<T extends { readonly pid: number }>(items: readonly T[]): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const group = groups.get(item.pid);
    if (group === undefined) groups.set(item.pid, [item]);
    else group.push(item);
  }
  return groups;
}

/** Cuts a life at the end of the run. */
function censored(death_ns: number, windowNs: number) {
  return { death_ns: Math.min(death_ns, windowNs), death_censored: death_ns > windowNs };
}

const fileOf = ({ mapping_kind, path }: MappingRow): string | null => (mapping_kind === "file" ? path : null);

/** What a tensor's own mapping says of it: where it lies and when it must be gone at the latest. */
function engineRow(region: EngineRegion, mapping: MappingPlace | undefined, windowNs: number): Unnumbered {
  const mappingDeath = mapping === undefined ? Number.POSITIVE_INFINITY : mapping.death_ns;
  const { begin, end, pid, addr, birth_ns, name, tensor, logical_id, layer, candidates } = region;
  return {
    pid,
    addr,
    begin,
    end,
    birth_ns,
    name,
    tensor,
    logical_id,
    layer,
    candidates,
    region_type: region.region_type,
    evidence: region.evidence,
    confidence: region.confidence,
    exec_epoch: mapping?.row.exec_epoch ?? 0,
    size_bytes: end - begin,
    mapping_kind: mapping?.row.mapping_kind ?? null,
    file: mapping === undefined ? null : fileOf(mapping.row),
    birth_censored: region.birth_censored,
    ...censored(Math.min(region.death_ns, mappingDeath), windowNs),
  };
}

function mappingRow(piece: Extent, mappingPlace: MappingPlace, verdict: Verdict, windowNs: number): Unnumbered {
  const { row } = mappingPlace;
  return {
    ...verdict,
    pid: row.pid,
    exec_epoch: row.exec_epoch,
    addr: row.addr + BigInt(piece.begin - mappingPlace.begin),
    begin: piece.begin,
    end: piece.end,
    size_bytes: piece.end - piece.begin,
    birth_ns: piece.birth_ns,
    mapping_kind: row.mapping_kind,
    file: fileOf(row),
    name: row.path ?? row.mapping_kind,
    tensor: null,
    logical_id: null,
    layer: null,
    birth_censored: row.birth_censored && piece.birth_ns === mappingPlace.birth_ns,
    candidates: [],
    ...censored(piece.death_ns, windowNs),
  };
}

/** Regions of all processes, disjoint in address and time within each. */
export function regionMap(inputs: RegionInputs): Region[] {
  const { timeline, windowNs, originNs, enginePids, workedPids } = inputs;
  const places = mappingPlaces(inputs.mappings, originNs);
  const mappingAt = placeIndex(places);
  const tensorsOf = groupByPid(inputs.tensors);
  const rows: Unnumbered[] = [];
  const engineOf = new Map<number, Unnumbered[]>();
  for (const [pid, lives] of tensorsOf) {
    const engineRows = engineRegions(lives, originNs).map((region) => {
      const index = mappingAt.find(pid, region.begin, Math.min(Math.max(region.birth_ns, 0), windowNs));
      return engineRow(region, places[index], windowNs);
    });
    // What outlived the run leaves nothing of its mapping behind.
    const covering = engineRows.map((row) =>
      row.death_censored ? { ...row, death_ns: Number.POSITIVE_INFINITY } : row,
    );
    engineOf.set(pid, covering);
    rows.push(...engineRows);
  }
  for (const place of places) {
    const covers = engineOf.get(place.pid) ?? [];
    const birth = Number(place.row.birth_ns - originNs);
    const verdict = classifyMapping({
      mapping_kind: place.row.mapping_kind,
      path: place.row.path,
      size_bytes: place.end - place.begin,
      born_in: phaseAt(timeline, place.pid, birth),
      has_tensors: covers.length > 0,
      has_engine: enginePids.has(place.pid) || covers.length > 0,
      engine_worked: workedPids.has(place.pid),
    });
    for (const piece of uncovered(place, covers)) rows.push(mappingRow(piece, place, verdict, windowNs));
  }
  const living = rows.filter((row) => row.death_ns >= row.birth_ns && row.birth_ns <= windowNs && row.size_bytes > 0);
  living.sort(
    (left, right) =>
      left.pid - right.pid || left.begin - right.begin || left.birth_ns - right.birth_ns || left.end - right.end,
  );
  return living.map((row, index) => ({ region_id: index + 1, ...row }));
}
