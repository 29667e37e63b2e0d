/** sequence_figures.parquet: what each sequence wrote into a KV cache from one emptying to the next, and how long it was needed. */
import { rmSync } from "node:fs";
import { batchFromRows } from "../../columnar/rows.ts";
import { writeParquetFile } from "../../columnar/write/parquet-writer.ts";
import type { KvToken } from "../../label/kv/kv-token.ts";
import type { Labelled } from "../../label/label-run.ts";
import { runPaths } from "../../run-directory/run-directory.ts";
import type { RowOf } from "../../schema/row.ts";
import { type KeptRows, rowRetention, rowsByOwner } from "./kept-rows.ts";
import { writerOf } from "./request-writers.ts";

export type SequenceFigure = RowOf<"sequence_figures">;

/** Most bytes in the cache at once. */
function mostBytes({ tokens, bytes, left_ns }: KeptRows): number {
  const changes = tokens.flatMap((token, i) => [
    [token.write_ns, bytes[i] ?? 0] as const,
    [left_ns[i] ?? Number.POSITIVE_INFINITY, -(bytes[i] ?? 0)] as const,
  ]);
  // What leaves in the moment in which others are written makes room for these.
  changes.sort(([one, by], [other, otherBy]) => (one === other ? by - otherBy : one < other ? -1 : 1));
  let held = 0;
  return changes.reduce((most, [, by]) => {
    held += by;
    return Math.max(most, held);
  }, 0);
}

/** The one request that wrote all of it; null where that is not known, or several did. */
function requestOf(tokens: readonly KvToken[]): string | null {
  const writers = new Set(tokens.map(writerOf));
  const [one = null] = writers;
  return writers.size === 1 ? one : null;
}

/** Tokens with a row in any layer: layers that look back over a window keep them for another time, as a token of their own. */
function tokenCount(tokens: readonly KvToken[]): number {
  const windowed = tokens.filter(({ in_window }) => in_window === true).length;
  return Math.max(windowed, tokens.length - windowed);
}

function figureOf(filling: number, kept: KeptRows, originNs: bigint): SequenceFigure | null {
  const written = kept.tokens.filter(({ is_written }) => is_written);
  const [first] = written;
  if (first === undefined) return null;
  const time = (ns: number): bigint => originNs + BigInt(Math.round(ns));
  const latest = (values: Iterable<number>): number => [...values].reduce((most, x) => Math.max(most, x), 0);
  const bytesOf = (weigh: (token: KvToken) => number): bigint =>
    BigInt(
      Math.round(
        kept.tokens.reduce((sum, token, i) => sum + (token.is_written ? weigh(token) * (kept.bytes[i] ?? 0) : 0), 0),
      ),
    );
  const needed = latest(written.map(({ last_read_ns }) => last_read_ns ?? 0));
  const left = latest(kept.left_ns);
  return {
    filling,
    pid: first.pid,
    context: first.context,
    sequence_id: first.sequence,
    request: requestOf(written),
    timestamp_ns: time(written.reduce((least, { write_ns }) => Math.min(least, write_ns), first.write_ns)),
    last_write_ns: time(latest(written.map(({ write_ns }) => write_ns))),
    last_need_ns: needed > 0 ? time(needed) : null,
    end_ns: Number.isFinite(left) ? time(left) : null,
    tokens: tokenCount(written),
    most_bytes: BigInt(Math.round(mostBytes(kept))),
    shared_bytes: bytesOf(({ shared_with }) => (shared_with.length > 0 ? 1 : 0)),
    needed_bytes: bytesOf(({ total_reads }) => total_reads),
    ...rowRetention(kept),
  };
}

/** The figures of every filling of which a row was written while we looked, in order of their numbers. */
export function sequenceFigures({ kvRows, origin_ns }: Pick<Labelled, "kvRows" | "origin_ns">): SequenceFigure[] {
  const fillings = [...rowsByOwner(kvRows, ({ filling }) => filling)].sort(([one], [other]) => one - other);
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
