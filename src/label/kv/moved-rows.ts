/**
 * Rows of caches that move for every batch. A row of the program's begins with the batch that puts it there and goes on from copy to
 * copy, until its cache does not keep it any more; each copy of it begins with the batch that writes it, is read by the next one, which
 * copies it, and is given back. Layers that keep the same rows are one group, as those that look back over a window are another.
 */
import { uint32List } from "../../columnar/growing-column.ts";
import { UNKNOWN_LAYOUT } from "../../regions/kv-layout.ts";
import type { KvTensor } from "./kv-lifecycle.ts";
import type { TokenCounters } from "./kv-token.ts";
import type { LayerRows, MovedBatch, MovedCache } from "./moved-steps.ts";
import { NO_SPANS } from "./read-spans.ts";
import { type KvEnd, ROW_ENDS } from "./row-ends.ts";
import { type ColumnTokens, tokensAt } from "./token-list.ts";

/** Copies of rows of one sequence that a batch writes and that end alike. */
export interface RowCopies {
  /** False for what was there before the first batch that was seen, which reads it. */
  readonly is_written: boolean;
  readonly write_ns: number;
  /** Begin of the batch that read them; NaN for none. */
  readonly last_read_ns: number;
  /** NaN while they are there. */
  readonly evict_ns: number;
  readonly size_bytes: number;
  readonly filling: number;
}

/** Layers that keep the same rows, and these. */
export interface MovedGroup {
  readonly tensors: readonly KvTensor[];
  readonly tokens: ColumnTokens;
}

export interface MovedRows {
  readonly groups: readonly MovedGroup[];
  readonly copies: readonly RowCopies[];
  /** Rows that were there when their cache went where it is not followed: their ends are not known, and they are in no group. */
  readonly lost: number;
}

/** A row of each sequence. */
interface Row {
  readonly position: number | null;
  /** Place of the batch that wrote it; null for one that was there before. */
  readonly written: number | null;
  readonly epoch: number;
}

/** Batches that follow each other without a gap, each of which keeps no more than the one before left. */
function runsOf(batches: readonly MovedBatch[]): MovedBatch[][] {
  const runs: MovedBatch[][] = [];
  for (const batch of batches) {
    const last = runs.at(-1)?.at(-1);
    const follows =
      last !== undefined &&
      batch.number === last.number + 1 &&
      batch.rows.length === last.rows.length &&
      batch.sequences === last.sequences &&
      batch.rows.every(([from, kept], layer) => {
        const [, before = 0, added = 0] = last.rows[layer] ?? [];
        return from + kept <= before + added;
      });
    if (follows) runs.at(-1)?.push(batch);
    else runs.push([batch]);
  }
  return runs;
}

/** Layers that keep the same rows in every batch. */
function groupsOf(batches: readonly MovedBatch[]): number[][] {
  let groups = [[...(batches[0]?.rows.keys() ?? [])]];
  for (const { rows } of batches) {
    if (rows.every((one) => one === rows[0])) continue;
    groups = groups.flatMap((layers) => [...Map.groupBy(layers, (layer) => String(rows[layer])).values()]);
  }
  return groups;
}

/** @param counters of fillings: a sequence of which rows are given up that are older than its last batch begins another one */
export function movedRows(
  caches: readonly MovedCache[],
  { nextFilling, countToken, columns }: TokenCounters,
): MovedRows {
  const groups: MovedGroup[] = [];
  const copies: RowCopies[] = [];
  let lost = 0;

  /** @param isLast false where the cache went on otherwise */
  function takeRun(cache: MovedCache, batches: readonly MovedBatch[], isLast: boolean): void {
    const [first] = batches as [MovedBatch, ...MovedBatch[]];
    const begins = batches.map(({ step }) => step.begin_ns);
    const fillings = new Map<string, number>();
    const fillingOf = (epoch: number, s: number): number => {
      const key = `${epoch}/${s}`;
      const filling = fillings.get(key) ?? nextFilling();
      fillings.set(key, filling);
      return filling;
    };
    const isKnown = isLast && !cache.isLost;
    const gone_ns = isKnown ? cache.gone_ns : null;

    for (const layers of groupsOf(batches)) {
      const rows = uint32List();
      const origins = new Map<string, number>();
      const originOf = (epoch: number, s: number, is_written: boolean): number => {
        const key = `${epoch}/${s}/${is_written}`;
        let origin = origins.get(key);
        if (origin === undefined) {
          const name = { pid: cache.pid, engine: cache.engine, context: `cache ${cache.number}` };
          const filling = fillingOf(epoch, s);
          const common = { ...name, sequence: first.sequence + s, filling, is_written, is_moved: true } as const;
          origin = columns.addOrigin(common);
          origins.set(key, origin);
        }
        return origin;
      };
      const row_bytes = layers.reduce(
        (sum, layer) => sum + (first.bytes[layer] ?? [0, 0])[0] + (first.bytes[layer] ?? [0, 0])[1],
        0,
      );

      /** @param until place of the first batch that does not keep it */
      function close(row: Row, until: number, evict_ns: number | null, end: KvEnd | null): void {
        const { position, written, epoch } = row;
        const by = batches[written ?? 0]?.step;
        if (by === undefined) return;
        const reads = { begins, from: written === null ? 0 : written + 1, until };
        for (let s = 0; s < first.sequences; s++) {
          countToken();
          const origin = originOf(epoch, s, written !== null);
          const token = columns.add({ origin, written: by, position, cell: null });
          columns.chain.set(token, columns.spans.add(NO_SPANS, reads));
          columns.evict_ns.set(token, evict_ns);
          columns.setEnd(token, end);
          rows.push(token);
        }
      }

      function addCopies(place: number, rows: number, read_ns: number, evict_ns: number, epoch: number): void {
        if (rows === 0) return;
        const times = { write_ns: begins[Math.max(0, place)] ?? 0, last_read_ns: read_ns, evict_ns };
        for (let s = 0; s < first.sequences; s++) {
          const filling = fillingOf(epoch, s);
          copies.push({ is_written: place >= 0, ...times, size_bytes: rows * row_bytes, filling });
        }
      }

      const rowsAt = ({ rows }: MovedBatch): LayerRows => rows[layers[0] ?? 0] ?? [0, 0, 0];
      const [skipped, there] = rowsAt(first);
      let live: Row[] = Array.from({ length: there }, (_, i) => ({
        position: skipped === 0 ? i : null,
        written: null,
        epoch: 0,
      }));
      // Of a layer that looks back over a window the rows before are not counted.
      let next = skipped === 0 ? there : null;
      let epoch = 0;
      addCopies(-1, there, begins[0] ?? 0, begins[0] ?? 0, epoch);
      for (const [place, batch] of batches.entries()) {
        const [from, kept, added] = rowsAt(batch);
        if (place > 0) {
          const begin_ns = begins[place] ?? 0;
          addCopies(place - 1, kept, begin_ns, begin_ns, epoch);
          addCopies(place - 1, live.length - kept, Number.NaN, begin_ns, epoch);
          const cut = live.slice(from + kept);
          for (const row of [...live.slice(0, from), ...cut]) close(row, place, begin_ns, ROW_ENDS.trimmed);
          if (kept < live.length) live = live.slice(from, from + kept);
          next = next === null ? null : next - cut.length;
          // What was guessed ahead and given up by the next batch goes on.
          if (cut.some(({ written }) => written !== place - 1)) epoch += 1;
        }
        for (let i = 0; i < added; i++) {
          live.push({ position: next === null ? null : next + i, written: place, epoch });
        }
        next = next === null ? null : next + added;
      }
      addCopies(batches.length - 1, live.length, Number.NaN, gone_ns ?? Number.NaN, epoch);
      const end = gone_ns === null ? null : ROW_ENDS.memory_gone;
      if (isKnown) for (const row of live) close(row, batches.length, gone_ns, end);
      else lost += live.length * first.sequences;
      const tensors = layers.flatMap((layer): KvTensor[] => {
        const ofModel = cache.numbers?.[layer] ?? null;
        const suffix = ofModel === null ? "" : `_l${ofModel}`;
        const facts = {
          ...{
            pid: cache.pid,
            engine: cache.engine,
            layer: ofModel,
            context: `cache ${cache.number}`,
            streams: 1,
            addr: 0n,
          },
          ...{ cells: 0, layout: UNKNOWN_LAYOUT, element_bytes: 0 },
          ...{ birth_ns: begins[0] ?? 0, death_ns: Number.POSITIVE_INFINITY },
        };
        const [keys, values] = first.bytes[layer] ?? [0, 0];
        return [
          { ...facts, name: `cache_k${suffix}`, row_bytes: keys },
          { ...facts, name: `cache_v${suffix}`, row_bytes: values },
        ];
      });
      groups.push({ tensors, tokens: tokensAt(columns, rows.values()) });
    }
  }

  for (const cache of caches) {
    const runs = runsOf(cache.batches);
    for (const [i, batches] of runs.entries()) takeRun(cache, batches, i === runs.length - 1);
  }
  return { groups, copies, lost };
}
