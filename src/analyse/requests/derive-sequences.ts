/** sequence_figures.parquet: what each sequence wrote into a KV cache from one emptying to the next, and how long it was needed. */
import { rmSync } from "node:fs";
import { positionsInOrder } from "../../columnar/keys/number-order.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import { writeParquetFile } from "../../columnar/write/parquet-writer.ts";
import type { TokenOrigin } from "../../label/kv/kv-token.ts";
import type { Labelled } from "../../label/label-run.ts";
import { runPaths } from "../../run-directory/run-directory.ts";
import type { RowOf } from "../../schema/row.ts";
import { type KeptRows, rowRetention, rowsByOwner } from "./kept-rows.ts";
import { writerOf } from "./request-writers.ts";

export type SequenceFigure = RowOf<"sequence_figures">;

/** Most bytes in the cache at once: what leaves in the moment in which others are written makes room for these. */
function mostBytes({ count, write_ns: writeNs, bytes, left_ns }: KeptRows): number {
  const leaving = positionsInOrder(Float64Array.from({ length: count }, (_, k) => left_ns(k)));
  let [held, most, next] = [0, 0, 0];
  for (let k = 0; k < count; k++) {
    const write_ns = writeNs(k);
    for (; next < count && left_ns(leaving[next] ?? 0) <= write_ns; next++) held -= bytes(leaving[next] ?? 0);
    held += bytes(k);
    most = Math.max(most, held);
  }
  return most;
}

/** What is summed over the tokens that a filling wrote. */
interface Sums {
  readonly first: TokenOrigin;
  readonly first_ns: number;
  readonly requests: string | null;
  /** The latest, ns; 0 where no batch needed any. */
  written_ns: number;
  needed_ns: number;
  left_ns: number;
  shared_bytes: number;
  needed_bytes: number;
  /** Tokens by the tensors that keep them: those of a window, or that are freed at another time, have them as tokens of their own. */
  readonly inRoom: Map<number, number>;
  /** The request that wrote all of it; null where that is not known, or several did. */
  request: string | null;
}

function sumsOf({ count, tokens, place, isWritten, write_ns, room, bytes, left_ns }: KeptRows): Sums | null {
  let sums: Sums | null = null;
  for (let k = 0; k < count; k++) {
    if (!isWritten(k)) continue;
    const token = place(k);
    const requests = tokens.requests(token);
    sums ??= {
      ...{ first: tokens.origin(token), first_ns: write_ns(k), written_ns: 0, needed_ns: 0, left_ns: 0 },
      ...{ shared_bytes: 0, needed_bytes: 0, inRoom: new Map(), requests, request: writerOf(requests) },
    };
    sums.written_ns = Math.max(sums.written_ns, write_ns(k));
    sums.needed_ns = Math.max(sums.needed_ns, tokens.last_read_ns(token) ?? 0);
    sums.left_ns = Math.max(sums.left_ns, left_ns(k));
    if (tokens.shared_with(token).length > 0) sums.shared_bytes += bytes(k);
    sums.needed_bytes += tokens.total_reads(token) * bytes(k);
    sums.inRoom.set(room(k), (sums.inRoom.get(room(k)) ?? 0) + 1);
    if (sums.request !== null && requests !== sums.requests && writerOf(requests) !== sums.request) sums.request = null;
  }
  return sums;
}

function figureOf(filling: number, kept: KeptRows, originNs: bigint): SequenceFigure | null {
  const sums = sumsOf(kept);
  if (sums === null) return null;
  const { first, first_ns, written_ns, needed_ns, left_ns } = sums;
  const time = (ns: number): bigint => originNs + BigInt(Math.round(ns));
  return {
    filling,
    pid: first.pid,
    context: first.context,
    sequence_id: first.sequence,
    request: sums.request,
    timestamp_ns: time(first_ns),
    last_write_ns: time(written_ns),
    last_need_ns: needed_ns > 0 ? time(needed_ns) : null,
    end_ns: Number.isFinite(left_ns) ? time(left_ns) : null,
    tokens: Math.max(...sums.inRoom.values()),
    most_bytes: BigInt(Math.round(mostBytes(kept))),
    shared_bytes: BigInt(Math.round(sums.shared_bytes)),
    needed_bytes: BigInt(Math.round(sums.needed_bytes)),
    ...rowRetention(kept),
  };
}

/** The figures of every filling of which a row was written while we looked, in order of their numbers. */
export function sequenceFigures({ kvRows, origin_ns }: Pick<Labelled, "kvRows" | "origin_ns">): SequenceFigure[] {
  const fillings = [...rowsByOwner(kvRows, (place) => kvRows.tokens.origin(place).filling)].sort(
    ([one], [other]) => one - other,
  );
  return fillings.flatMap(([filling, kept]) => figureOf(filling, kept, origin_ns) ?? []);
}

/**
 * Writes the figures of sequences, and removes what is there where there are none.
 * @throws MrmTraceError failure where the file cannot be written
 */
export function deriveSequences(runDir: string, labelled: Pick<Labelled, "kvRows" | "origin_ns">): void {
  const path = runPaths(runDir).sequence_figures;
  const figures = sequenceFigures(labelled);
  if (figures.length === 0) rmSync(path, { force: true });
  else writeParquetFile(path, "sequence_figures", [batchFromRows("sequence_figures", figures)]);
}
