import { describe, expect, test } from "bun:test";
import { rowRetention, rowsByOwner } from "../../../../src/analyse/requests/kept-rows.ts";
import { kvRowsOf } from "../../../fixtures/kv-rows.ts";

/** Of the rows of sequence 0. */
const retentionOf = (...given: Parameters<typeof kvRowsOf>) => {
  const rows = kvRowsOf(...given);
  const kept = rowsByOwner(rows, (place) => (rows.tokens.origin(place).sequence === 0 ? "mine" : null)).get("mine");
  return kept === undefined ? null : rowRetention(kept);
};

describe("rows of an owner", () => {
  test("were needed from their write to the last batch that read them, each in all tensors of its room", () => {
    const tokens = [
      { write_ns: 100, last_read_ns: 400, evict_ns: 500 },
      { write_ns: 200, last_read_ns: 400, evict_ns: 500 },
      { write_ns: 300, evict_ns: 500 },
      { write_ns: 100, last_read_ns: 90_000, evict_ns: 99_000, sequence: 1 },
    ];
    expect(retentionOf(tokens, [64, 32])).toEqual({
      written_bytes: 288n,
      open_bytes: 0n,
      retention_p50_ns: 200n,
      retention_max_ns: 300n,
    });
  });

  test("have no longest time while one is in the cache, and no median where those that are decide it", () => {
    const done = { write_ns: 100, last_read_ns: 150, evict_ns: 500 };
    const open = { write_ns: 100, last_read_ns: 120 };
    expect(retentionOf([done, done, done, open])).toMatchObject({
      open_bytes: 64n,
      retention_p50_ns: 50n,
      retention_max_ns: null,
    });
    expect(retentionOf([done, open, open])).toMatchObject({ open_bytes: 128n, retention_p50_ns: null });
  });

  test("are not in the cache any more where its memory is gone", () => {
    expect(retentionOf([{ write_ns: 100, last_read_ns: 120 }], [64], 900)).toMatchObject({
      open_bytes: 0n,
      retention_max_ns: 20n,
    });
  });

  test("tell nothing where they were there before we looked, and nobody has those that are another's", () => {
    expect(retentionOf([{ write_ns: 100, is_written: false, evict_ns: 200 }])).toEqual({
      written_bytes: 0n,
      open_bytes: 0n,
      retention_p50_ns: null,
      retention_max_ns: null,
    });
    expect(retentionOf([{ write_ns: 100, sequence: 1 }])).toBeNull();
  });
});
