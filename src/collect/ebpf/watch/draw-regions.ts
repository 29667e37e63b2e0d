/** Which bytes of the tree may be watched now: tensors where an engine names them, else what is in memory by mapping. */
import type { LiveTensor } from "../../../engine/engine.ts";
import type { EngineSession } from "../../../engine/probing/session.ts";
import { openPagemap } from "../../../kernel/pagemap.ts";
import type { ProcessMaps } from "../../../regions/mapping-events.ts";
import type { MappingRow } from "../../../regions/mapping-row.ts";
import type { DrawRegion } from "./draw.ts";
import { stratumOf } from "./stratum.ts";

const PROT_READ_WRITE = 3;

interface Range {
  readonly from: bigint;
  readonly to: bigint;
}

/** Sorted ranges without overlap that cover the same bytes. */
export function unionOf(ranges: readonly Range[]): Range[] {
  const out: { from: bigint; to: bigint }[] = [];
  for (const { from, to: end } of [...ranges].sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0))) {
    const last = out.at(-1);
    if (last === undefined || from > last.to) {
      if (end > from) out.push({ from, to: end });
    } else if (end > last.to) {
      last.to = end;
    }
  }
  return out;
}

/** The parts of a range outside sorted ranges without overlap. */
export function outside(range: Range, holes: readonly Range[]): Range[] {
  const out: Range[] = [];
  let next = range.from;
  for (const hole of holes) {
    if (hole.to <= next) continue;
    if (hole.from >= range.to) break;
    if (hole.from > next) out.push({ from: next, to: hole.from });
    next = hole.to;
  }
  if (next < range.to) out.push({ from: next, to: range.to });
  return out;
}

const rangeOf = (tensor: LiveTensor): Range => ({ from: tensor.addr, to: tensor.addr + BigInt(tensor.size_bytes) });

/** Weights and cache tensors one by one; activations share addresses, so they are taken as the union of their bytes. */
function tensorRegions(tensors: readonly LiveTensor[]): DrawRegion[] {
  const out: DrawRegion[] = [];
  for (const [pid, ofProcess] of Map.groupBy(tensors, (tensor) => tensor.pid)) {
    for (const tensor of ofProcess) {
      if (tensor.region_type !== "weight" && tensor.region_type !== "kv_cache") continue;
      const stratum = tensor.drawn ? stratumOf({ ...tensor, mapping_kind: null }) : null;
      if (stratum === null || tensor.size_bytes === 0) continue;
      const { addr, size_bytes, region_type, name } = tensor;
      out.push({ pid, addr, size_bytes, stratum, region_type, tensor: name });
    }
    const activations = ofProcess.filter((tensor) => tensor.region_type === "activation").map(rangeOf);
    for (const { from, to: end } of unionOf(activations)) {
      out.push({
        pid,
        addr: from,
        size_bytes: Number(end - from),
        stratum: "activation",
        region_type: "activation",
        tensor: null,
      });
    }
  }
  return out;
}

/** What is in memory of a process's mappings and belongs to no tensor. */
function mappingRegions(
  pid: number,
  rows: readonly MappingRow[],
  taken: readonly Range[],
  engine: boolean,
): DrawRegion[] {
  using pagemap = openPagemap(pid);
  const out: DrawRegion[] = [];
  for (const row of rows) {
    // Beside an engine's tensors the rest of its files is code and tables; without one, files may hold the data.
    const wanted = engine ? (row.prot & PROT_READ_WRITE) === PROT_READ_WRITE : (row.prot & 1) === 1;
    if (!wanted) continue;
    const region_type = engine ? "runtime" : "unknown";
    const stratum = stratumOf({
      region_type,
      tensor_type: null,
      logical_id: null,
      mapping_kind: row.mapping_kind,
    });
    if (stratum === null) continue;
    const resident = pagemap?.resident(row.addr, row.size_bytes) ?? [
      { addr: row.addr, size_bytes: Number(row.size_bytes) },
    ];
    for (const run of resident) {
      for (const { from, to: end } of outside({ from: run.addr, to: run.addr + BigInt(run.size_bytes) }, taken)) {
        out.push({ pid, addr: from, size_bytes: Number(end - from), stratum, region_type, tensor: null });
      }
    }
  }
  return out;
}

/** Every region that a watch may be drawn from, now; regions of one process do not overlap. */
export function drawRegions(maps: ProcessMaps, session: Pick<EngineSession, "liveTensors">): DrawRegion[] {
  const tensors = session.liveTensors();
  const out = tensorRegions(tensors);
  const byPid = Map.groupBy(tensors, (tensor) => tensor.pid);
  for (const pid of maps.pids()) {
    const ofProcess = byPid.get(pid) ?? [];
    out.push(...mappingRegions(pid, maps.mapsOf(pid), unionOf(ofProcess.map(rangeOf)), ofProcess.length > 0));
  }
  return out;
}
