import { describe, expect, test } from "bun:test";
import { NOTHING_KEPT, type RequestFigure } from "../../../../src/analyse/requests/request-figures.ts";
import { servedRequests, withRetention, writerOf } from "../../../../src/analyse/requests/request-writers.ts";
import type { RequestRow } from "../../../../src/analyse/requests/sequence-batches.ts";
import { type GivenToken, kvRowsOf } from "../../../fixtures/kv-rows.ts";

const figure = (request_id: number, request: string | null = null): RequestFigure =>
  ({ request_id, request, ...NOTHING_KEPT }) as RequestFigure;
const row = (request_id: number, sequence_id: number | null): RequestRow => ({ request_id, sequence_id }) as RequestRow;
const written = (figures: readonly RequestFigure[]) =>
  figures.map(({ request_id, written_bytes, retention_max_ns }) => [request_id, written_bytes, retention_max_ns]);

describe("what a request wrote", () => {
  const token = (sequence: number, write_ns: number, needed: number): GivenToken => ({
    ...{ sequence, write_ns, last_read_ns: write_ns + needed, evict_ns: 10_000 },
  });
  const rows = kvRowsOf([
    token(0, 100, 5),
    token(0, 200, 30),
    token(0, 300, 7),
    token(1, 200, 11),
    token(0, 250, 999),
    { ...token(0, 150, 800), pid: 9 },
  ]);

  test("is what its sequence wrote from its first batch to its last, in the process that served it", () => {
    const served = servedRequests(
      [row(2, 0), row(1, 0), row(3, 1), row(4, 2), row(5, null)],
      [
        { first_ns: 300, last_ns: 400 },
        { first_ns: 100, last_ns: 200 },
        { first_ns: 150, last_ns: 200 },
        { first_ns: 100, last_ns: null },
        null,
      ],
    );
    const figures = [1, 2, 3, 4, 5].map((id) => figure(id));
    expect(written(withRetention(figures, rows, served, 7))).toEqual([
      [1, 128n, 30n],
      [2, 64n, 7n],
      [3, 64n, 11n],
      [4, null, null],
      [5, null, null],
    ]);
    expect(written(withRetention(figures, rows, served, null)).every(([, bytes]) => bytes === null)).toBe(true);
  });

  test("is what the engine says, where it names requests, whoever else had it", () => {
    const named = kvRowsOf([
      { ...token(0, 100, 5), requests: '["a","b"]' },
      { ...token(1, 100, 6), requests: '["b"]' },
      { ...token(1, 100, 7), requests: null },
      { ...token(1, 100, 8), requests: '["c"]' },
    ]);
    expect(written(withRetention([figure(1, "a"), figure(2, "b")], named, new Map(), null))).toEqual([
      [1, 64n, 5n],
      [2, 64n, 6n],
    ]);
    expect([writerOf('["a","b"]'), writerOf(null), writerOf("[]")]).toEqual(["a", null, null]);
  });
});
