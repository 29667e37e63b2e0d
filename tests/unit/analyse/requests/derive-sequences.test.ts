import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deriveSequences, sequenceFigures } from "../../../../src/analyse/requests/derive-sequences.ts";
import { kvRowsOf } from "../../../fixtures/kv-rows.ts";

describe("the figures of sequences", () => {
  const kvRows = kvRowsOf(
    [
      { filling: 2, sequence: 3, write_ns: 100, last_read_ns: 300, total_reads: 2, evict_ns: 320, requests: '["a"]' },
      {
        filling: 2,
        sequence: 3,
        write_ns: 200,
        last_read_ns: 300,
        total_reads: 1,
        shared_with: [5],
        requests: '["a","b"]',
      },
      { filling: 2, sequence: 3, write_ns: 320, requests: '["a"]' },
      { filling: 1, sequence: 0, write_ns: 50, evict_ns: 90, context: "c" },
      { filling: 4, sequence: 0, write_ns: 10, is_written: false },
    ],
    [64, 32],
  );
  const figures = sequenceFigures({ kvRows, origin_ns: 1000n });

  test("are of each filling of which a row was written while we looked", () => {
    expect(figures).toEqual([
      {
        ...{ filling: 1, pid: 7, context: "c", sequence_id: 0, request: null, tokens: 1 },
        ...{ timestamp_ns: 1050n, last_write_ns: 1050n, last_need_ns: null, end_ns: 1090n },
        ...{ written_bytes: 96n, most_bytes: 96n, open_bytes: 0n, shared_bytes: 0n, needed_bytes: 0n },
        ...{ retention_p50_ns: 0n, retention_max_ns: 0n },
      },
      {
        ...{ filling: 2, pid: 7, context: null, sequence_id: 3, request: "a", tokens: 3 },
        ...{ timestamp_ns: 1100n, last_write_ns: 1320n, last_need_ns: 1300n, end_ns: null },
        // The first row makes room for the third.
        ...{ written_bytes: 288n, most_bytes: 192n, open_bytes: 192n, shared_bytes: 96n, needed_bytes: 288n },
        ...{ retention_p50_ns: null, retention_max_ns: null },
      },
    ]);
  });

  test("count a token once that layers with a window keep for another time, and name no request where several wrote", () => {
    const tokens = kvRowsOf(
      [
        { write_ns: 1, in_window: true, evict_ns: 5, requests: '["a"]' },
        { write_ns: 1, in_window: false, evict_ns: 9, requests: '["b"]' },
      ],
      [64, 32],
    );
    const windowed = { ...tokens, rooms: [[0], [1]], roomOf: [0, 1] };
    expect(sequenceFigures({ kvRows: windowed, origin_ns: 0n })).toMatchObject([
      { tokens: 1, request: null, written_bytes: 96n },
    ]);
  });

  test("are a file where there are any, and none is left where there are not", () => {
    const folder = mkdtempSync(join(tmpdir(), "mrm-sequences-"));
    try {
      const file = join(folder, "sequence_figures.parquet");
      deriveSequences(folder, { kvRows, origin_ns: 0n });
      expect(existsSync(file)).toBe(true);
      writeFileSync(file, "of an earlier analysis");
      deriveSequences(folder, { kvRows: kvRowsOf([]), origin_ns: 0n });
      expect(existsSync(file)).toBe(false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
