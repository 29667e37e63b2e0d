/** Which request wrote each KV row, and how long what it wrote was needed. */
import type { KvRows } from "../../label/kv/kv-lifecycle.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import { rowRetention, rowsByOwner } from "./kept-rows.ts";
import type { RequestFigure } from "./request-figures.ts";
import type { RequestBatches, RequestRow } from "./sequence-batches.ts";

/** By the engine's own names; null where it names none, or not all that had the row are known. */
export function writerOf(requests: string | null): string | null {
  if (requests === null) return null;
  const [first = null] = JSON.parse(requests) as string[];
  return first;
}

/** The batches of a request in a sequence, by their begins. */
interface Served {
  readonly id: number;
  readonly first_ns: number;
  readonly last_ns: number;
}

/** Requests by their sequences, in order of time, of which all batches are known. */
export function servedRequests(
  rows: readonly RequestRow[],
  batches: readonly (RequestBatches | null)[],
): ReadonlyMap<number, readonly Served[]> {
  const served = rows.flatMap(({ request_id: id, sequence_id }, i) => {
    const { first_ns = null, last_ns = null } = batches[i] ?? {};
    return sequence_id === null || first_ns === null || last_ns === null
      ? []
      : [{ id, sequence_id, first_ns, last_ns }];
  });
  const bySequence = Map.groupBy(served, ({ sequence_id }) => sequence_id);
  for (const some of bySequence.values()) some.sort((one, other) => one.first_ns - other.first_ns);
  return bySequence;
}

/**
 * The figures with what each request wrote, and how long that was needed.
 * @param served of our client, by the server's word for its sequences
 * @param pid of the process that served them; null where it is not known
 */
export function withRetention(
  figures: readonly RequestFigure[],
  rows: KvRows,
  served: ReadonlyMap<number, readonly Served[]>,
  pid: number | null,
): RequestFigure[] {
  const named = new Map<string, number>();
  for (const { request, request_id } of figures) if (request !== null) named.set(request, request_id);
  const byList = new Map<string, number | null>();
  const { tokens } = rows;
  const namedOwner = (place: number): number | null => {
    const requests = tokens.requests(place);
    if (requests === null) return null;
    const found = byList.get(requests);
    if (found !== undefined) return found;
    const owner = named.get(writerOf(requests) ?? "") ?? null;
    byList.set(requests, owner);
    return owner;
  };
  const servedOwner = (place: number): number | null => {
    const { sequence, pid: writer } = tokens.origin(place);
    const write_ns = tokens.write_ns(place);
    const some = writer === pid && sequence !== null ? (served.get(sequence) ?? []) : [];
    const one = some[firstIndex(some.length, (i) => (some[i]?.first_ns ?? 0) <= write_ns) - 1];
    return one !== undefined && write_ns <= one.last_ns ? one.id : null;
  };
  const kept = rowsByOwner(rows, named.size > 0 ? namedOwner : servedOwner);
  return figures.map((figure) => {
    const rowsOfIt = kept.get(figure.request_id);
    if (rowsOfIt === undefined) return figure;
    const { written_bytes, retention_p50_ns, retention_max_ns } = rowRetention(rowsOfIt);
    return { ...figure, written_bytes, retention_p50_ns, retention_max_ns };
  });
}
