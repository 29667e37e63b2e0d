/** Watches of recorded batches as the metrics read them, and the regions of a world. */
import type { WatchSample } from "../analyse/input/input.ts";
import type { DrawRegion } from "../collect/ebpf/watch/draw.ts";
import type { Batch } from "../columnar/batch.ts";
import { bigintAt, textAt } from "../columnar/cell.ts";
import { everyRow } from "../columnar/keys/number-order.ts";
import { CENSORED, inOrder, placeList } from "../label/regions/places.ts";
import type { Regions } from "../label/regions/region-map.ts";
import { OP } from "../schema/operation.ts";
import { placeOf, strataByPlace } from "./machine.ts";
import type { World, WorldStratum } from "./world.ts";

type Cell = string | number | bigint | undefined;

function rowsOf(batches: readonly Batch[], table: string): Record<string, Cell>[] {
  return batches
    .filter((batch) => batch.table === table)
    .flatMap((batch) => {
      const cells = Object.entries(batch.columns).map(
        ([name, column]) =>
          [
            name,
            "codes" in column ? [...column.codes].map((code) => column.values[code]) : [...column.data],
          ] as readonly [string, Cell[]],
      );
      return Array.from({ length: batch.rows }, (_, i) =>
        Object.fromEntries(cells.map(([name, all]) => [name, all[i]])),
      );
    });
}

interface Hits {
  readonly times: number[];
  readonly ops: number[];
}

/** Accesses by their watch, in the order of their rows: far more than watches, so that only what is asked for of them is read. */
function hitsByWatch(batches: readonly Batch[], originNs: bigint): Map<bigint | null, Hits> {
  const hits = new Map<bigint | null, Hits>();
  for (const { rows, columns } of batches.filter(({ table }) => table === "access")) {
    const { watch_id, timestamp_ns, op_type } = columns;
    for (let row = 0; row < rows; row++) {
      const watch = bigintAt(watch_id, row);
      const mine = hits.get(watch) ?? { times: [], ops: [] };
      mine.times.push(Number((bigintAt(timestamp_ns, row) ?? 0n) - originNs));
      mine.ops.push(OP[textAt(op_type, row) as keyof typeof OP]);
      hits.set(watch, mine);
    }
  }
  return hits;
}

/** What was there before the run came so long before it, ns. */
const LONG_BEFORE = 1e9;

/** When the memory of a stratum comes and goes, ns: far outside of the run where it does not. */
export const lifeOf = (stratum: WorldStratum | undefined): readonly [born: number, freed: number] =>
  stratum?.life_ns ?? [-LONG_BEFORE, Number.POSITIVE_INFINITY];

/**
 * Watches of recorded batches, times since `originNs`.
 * @param strata of the world that they are of, where memory comes and goes in it
 */
export function samplesOf(batches: readonly Batch[], originNs: bigint, strata: World["strata"] = []): WatchSample[] {
  const since = (ns: Cell): number => Number(BigInt(ns as bigint) - originNs);
  const strataAt = strataByPlace(strata);
  const hits = hitsByWatch(batches, originNs);
  return rowsOf(batches, "watch").map((row): WatchSample => {
    const mine = hits.get(BigInt(row.watch_id as bigint));
    const begin_ns = since(row.timestamp_ns);
    const turns = strataAt(placeOf(BigInt(row.addr as bigint)));
    const there = turns.find((stratum) => {
      const [born, freed] = lifeOf(stratum);
      return born <= begin_ns && begin_ns < freed;
    });
    const others = turns.filter(({ region_type }) => region_type !== row.region_type);
    const next = others.map((stratum) => lifeOf(stratum)[0]).filter((born) => born > begin_ns);
    const [born, freed] = there === undefined ? [-LONG_BEFORE, Math.min(...next)] : lifeOf(there);
    return {
      ...(row as unknown as WatchSample),
      // The map tells what lay there, once all of it is known; what was free then has no class but that of the draw.
      region_type: there?.region_type ?? (row.region_type as WatchSample["region_type"]),
      size_bytes: Number(row.size_bytes),
      stratum_bytes: Number(row.stratum_bytes),
      mapping_kind: null,
      tensor: null,
      dwell_limit_ns: Number(row.dwell_limit_ns),
      begin_ns,
      end_ns: since(row.end_ns),
      hit_ns: new Float64Array(mine?.times ?? []),
      hit_op: new Uint8Array(mine?.ops ?? []),
      region_death_ns: Number.isFinite(freed) ? freed : null,
      region_birth_ns: born,
    };
  });
}

/** Regions of a world, one for each stratum. */
export function regionsOf(drawn: readonly DrawRegion[], { strata, is_named }: World, runNs: number): Regions {
  const list = placeList();
  const facts = drawn.map(({ pid, addr, size_bytes, region_type, stratum }, i): Regions["facts"][number] => {
    const begin = Number(addr);
    const [born, freed] = lifeOf(strata[i]);
    const isSealed = strata[i]?.is_sealed ?? false;
    list.add(
      pid,
      begin,
      begin + size_bytes,
      Math.max(0, born),
      Math.min(freed, runNs),
      i,
      freed < runNs ? 0 : CENSORED.death,
    );
    return {
      region_type,
      mapping_kind: null,
      file: null,
      tensor: null,
      logical_id: null,
      evidence: is_named && region_type !== "unknown" && region_type !== "runtime" ? "engine_probe" : "mapping",
      confidence: 1,
      exec_epoch: 0,
      name: stratum,
      layer: null,
      candidates: [],
      is_read_only: isSealed,
      is_unwritable: isSealed,
      is_shared: false,
      is_twin: false,
    };
  });
  list.take(inOrder(list.places, everyRow(list.places.count)));
  return { ...list.places, facts, movedBirths: new Map() };
}
