/** Which bytes of the tree may be watched now: tensors where an engine names them, else mappings without what is empty. */
import type { LiveTensor } from "../../../../engine/engine.ts";
import type { EngineSession } from "../../../../engine/probing/session.ts";
import type { ProcessMaps } from "../../../../regions/mapping-events.ts";
import type { MappingRow } from "../../../../regions/mapping-row.ts";
import type { DrawRegion } from "../draw.ts";
import { stratumOf } from "../stratum.ts";
import type { EmptyParts } from "./empty-parts.ts";
import { outside, type Range, unionOf } from "./ranges.ts";
import { type BandPiece, reuseBands, type Turn } from "./reuse-bands.ts";

const PROT_READ = 1;
const PROT_READ_WRITE = 3;

const rangeOf = (tensor: LiveTensor): Range => ({ from: tensor.addr, to: tensor.addr + BigInt(tensor.size_bytes) });

const turnsOf = (tensors: readonly LiveTensor[]): Turn[] =>
  tensors
    .filter((tensor) => tensor.region_type === "activation")
    .map((tensor) => ({ ...rangeOf(tensor), name: tensor.name }));

/** The bands of the activations of a process. */
export type Bands = (pid: number, activations: () => readonly Turn[]) => readonly BandPiece[];

/** Weights and cache tensors one by one; activations share addresses, so they are taken as the union of their bytes, by how many take turns there. */
function tensorRegions(tensors: readonly LiveTensor[], bandsOf: Bands): DrawRegion[] {
  const out: DrawRegion[] = [];
  for (const [pid, ofProcess] of Map.groupBy(tensors, (tensor) => tensor.pid)) {
    for (const tensor of ofProcess) {
      if (tensor.region_type !== "weight" && tensor.region_type !== "kv_cache") continue;
      const stratum = tensor.drawn ? stratumOf({ ...tensor, mapping_kind: null }) : null;
      if (stratum === null || tensor.size_bytes === 0) continue;
      const { addr, size_bytes, region_type, name } = tensor;
      out.push({ pid, addr, size_bytes, stratum, region_type, tensor: name });
    }
    for (const { from, to: end, stratum, turns } of bandsOf(pid, () => turnsOf(ofProcess))) {
      const size_bytes = Number(end - from);
      out.push({ pid, addr: from, size_bytes, stratum, region_type: "activation", tensor: null, turns });
    }
  }
  return out;
}

/**
 * Whether a mapping is drawn from: beside an engine's tensors the rest of its files is code and tables; without one, files may hold the data.
 * What nobody may read for a while keeps its data, and may be used again within a window.
 */
function isWanted({ prot, prot_ever, mapping_kind }: MappingRow, engine: boolean): boolean {
  const wanted = engine ? PROT_READ_WRITE : PROT_READ;
  // Tables of libraries are written once, and sealed for good.
  const allowed = engine && mapping_kind === "file" ? prot : prot_ever;
  return (allowed & wanted) === wanted;
}

/** What belongs to no tensor of a mapping: of it only what is in memory is drawn, which is asked word by word. */
function mappingRegions(row: MappingRow, taken: readonly Range[], engine: boolean, empty: EmptyParts): DrawRegion[] {
  const region_type = engine ? "runtime" : "unknown";
  const { pid, mapping_kind } = row;
  const stratum = stratumOf({ region_type, tensor_type: null, logical_id: null, mapping_kind });
  if (stratum === null) return [];
  return empty.filled(row).flatMap((part) =>
    outside(part, taken).map(({ from, to: end }) => ({
      pid,
      addr: from,
      size_bytes: Number(end - from),
      stratum,
      region_type,
      tensor: null,
      resident_only: true,
    })),
  );
}

/**
 * Every region that a watch may be drawn from, now; regions of one process do not overlap.
 * @param bandsOf as reuseBands makes them; it may know them as long as no tensor changes
 */
export function drawRegions(
  maps: Pick<ProcessMaps, "pids" | "mapsOf">,
  session: Pick<EngineSession, "liveTensors">,
  empty: EmptyParts,
  bandsOf: Bands = (_, activations) => reuseBands(activations()),
): DrawRegion[] {
  const tensors = session.liveTensors();
  const byPid = Map.groupBy(tensors, (tensor) => tensor.pid);
  const named = new Set(tensors.filter(({ is_alone }) => is_alone !== true).map(({ pid }) => pid));
  const wanted = new Map(
    maps.pids().map((pid) => [pid, maps.mapsOf(pid).filter((row) => isWanted(row, named.has(pid)))]),
  );
  empty.lookAgain(wanted);
  const out = tensorRegions(tensors, bandsOf);
  for (const [pid, rows] of wanted) {
    const taken = unionOf((byPid.get(pid) ?? []).map(rangeOf));
    for (const row of rows) out.push(...mappingRegions(row, taken, named.has(pid), empty));
  }
  return out;
}
