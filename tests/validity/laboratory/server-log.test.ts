import { describe, expect, test } from "bun:test";
import { agreeingRows, needsOf, quantileBetween, serverLogOf, serverTruth } from "./server-log.ts";

/** Two slots: one decodes three tokens behind its prompt, the other comes in its midst, and then has another prompt that shares a token. */
const LOG = `0.00.000.000 I srv          init: initializing ...
0.00.010.000 I slot   operator(): id  0 | task 1 | new prompt, n_ctx_slot = 512, n_keep = 0, task.n_tokens = 4
0.00.010.100 I slot   operator(): id  0 | task 1 | cached n_tokens = 0, memory_seq_rm [0, end)
0.00.011.000 D srv        decode: n_batch (effective) = 2048, off = 0
0.00.013.000 D slot process_toke: id  0 | task 1 | n_gen = 1, n_remaining = 2, next token: 5 'a'
0.00.013.100 D slot handle_last_: id  0 | task 1 | slot decode token, id=5, n_ctx = 512, n_tokens = 4, truncated = 0
0.00.013.200 I slot   operator(): id  1 | task 2 | new prompt, n_ctx_slot = 512, n_keep = 0, task.n_tokens = 2
0.00.013.300 I slot   operator(): id  1 | task 2 | cached n_tokens = 0, memory_seq_rm [0, end)
0.00.014.000 D srv        decode: n_batch (effective) = 2048, off = 0
0.00.015.000 D que    start_loop: update slots
0.00.015.100 D slot handle_last_: id  0 | task 1 | slot decode token, id=5, n_ctx = 512, n_tokens = 5, truncated = 0
0.00.015.200 D slot handle_last_: id  1 | task 2 | slot decode token, id=5, n_ctx = 512, n_tokens = 2, truncated = 0
0.00.016.000 D srv        decode: n_batch (effective) = 2048, off = 0
0.00.017.000 D slot process_toke: id  0 | task 1 | stopped by limit, n_gen = 3, n_predict = 3
0.00.019.000 D state_read_meta: cell_count = 2, dest_seq_id = 0
0.00.020.000 I slot   operator(): id  1 | task 3 | new prompt, n_ctx_slot = 512, n_keep = 0, task.n_tokens = 2
0.00.020.100 I slot   operator(): id  1 | task 3 | cached n_tokens = 1, memory_seq_rm [1, end)
0.00.021.000 D srv        decode: n_batch (effective) = 2048, off = 0
0.00.022.000 D que    start_loop: update slots
`;
const MS = 1e6;

describe("the log of a server", () => {
  const log = serverLogOf(LOG);

  test("tells the requests: which batches worked on each, and its tokens where it came to its end", () => {
    const ended = [
      "0.00.017.100 I slot print_timing: id  0 | task 1 | prompt eval time =       1.00 ms /     4 tokens (    0.25 ms per token)",
      "0.00.017.200 I slot print_timing: id  0 | task 1 |        eval time =       3.00 ms /     3 tokens (    1.00 ms per token)",
      "0.00.017.300 I slot      release: id  0 | task 1 | stop processing: n_tokens = 6, truncated = 0",
      "0.00.017.400 I slot      release: id  1 | task 2 | stop processing: n_tokens = 3, truncated = 0",
    ];
    const lines = LOG.split("\n");
    const at = lines.findIndex((line) => line.startsWith("0.00.019"));
    const { requests } = serverLogOf([...lines.slice(0, at), ...ended, ...lines.slice(at)].join("\n"));
    expect(requests).toEqual([
      { slot: 0, prompt_tokens: 4, first_batch: 0, end_batch: 3, counted: [4, 3] },
      { slot: 1, prompt_tokens: 2, first_batch: 1, end_batch: 3, counted: null },
      { slot: 1, prompt_tokens: 2, first_batch: 3, end_batch: null, counted: null },
    ]);
    expect(log.batches.map(({ parts }) => parts)).toEqual([
      [[0, 0, 4]],
      [
        [0, 4, 1],
        [1, 0, 2],
      ],
      [
        [0, 5, 1],
        [1, 2, 1],
      ],
      [[1, 1, 1]],
    ]);
  });

  test("tells the batches, and what each writes and goes over", () => {
    const batches = log.batches.map(({ tokens, sequences, needed, visible }) => [tokens, sequences, needed, visible]);
    expect(batches).toEqual([
      [4, 1, 0, 4],
      [3, 2, 4, 7],
      [2, 2, 7, 9],
      [1, 1, 1, 2],
    ]);
    expect(log.batches.map(({ begin_ns, end_ns }) => [begin_ns / MS, end_ns / MS])).toEqual([
      [11, 13],
      [14, 15],
      [16, 17],
      [21, 22],
    ]);
  });

  test("tells of each row when it was written, last needed and given up", () => {
    const second = log.rows.filter(({ slot }) => slot === 1);
    expect(second.map(({ position, needs, evict_ns }) => [position, needs, evict_ns])).toEqual([
      [0, 2, null],
      [1, 1, 20.1 * MS],
      [2, 0, 20.1 * MS],
      [1, 0, null],
    ]);
    const needs = needsOf(log);
    // The first row of slot 1: from its batch, 14 to 15, to the last one, 21 to 22.
    expect([needs.least[5], needs.most[5]]).toEqual([6 * MS, 8 * MS]);
    expect(quantileBetween(needs.least, needs.most, 0.99)).toEqual({ lo: 6 * MS, hi: 8 * MS });
  });

  test("tells the rows that the server restores, in place of those that its slot had", () => {
    const [restored] = log.rows.filter(({ isRestored }) => isRestored);
    expect(restored).toMatchObject({ slot: 0, position: 0, written: [19 * MS, 19 * MS], needs: 0, evict_ns: null });
    expect(log.rows.filter(({ slot, evict_ns }) => slot === 0 && evict_ns === 19 * MS).length).toBe(6);
  });

  test("gives what is true of rates", () => {
    const truth = serverTruth(log, { cells: 1024, row_bytes: 100, weight_bytes: 1000, tried_ns: 0, tried_tokens: 0 });
    // Two steps decode 3 tokens: one of both slots, one of the second.
    expect(truth.get("reads_per_byte_per_token of weight, decode")?.lo).toBeCloseTo(2 / 3, 12);
    expect(truth.get("reads_per_byte_per_token of kv_cache, decode")?.lo).toBeCloseTo(11 / 1024 / 3, 12);
    expect(truth.get("needs_per_write of kv_cache")?.lo).toBeCloseTo(12 / 12, 12);
    expect(truth.get("write_bytes_per_s of kv_cache")?.lo).toBeCloseTo(1200 / 0.011, 6);
  });

  test("goes over the weights once for all sequences that are neighbours, and anew for others", () => {
    const graphsOf = (slots: readonly number[]): number | undefined => {
      const asked = slots.flatMap((id) => [
        `0.00.010.000 I slot   operator(): id  ${id} | task 1 | new prompt, n_ctx_slot = 512, n_keep = 0, task.n_tokens = 1`,
        `0.00.010.100 I slot   operator(): id  ${id} | task 1 | cached n_tokens = 0, memory_seq_rm [0, end)`,
      ]);
      const decoded = "0.00.011.000 D srv        decode: n_batch (effective) = 2048, off = 0";
      return serverLogOf([...asked, decoded].join("\n")).batches[0]?.graphs;
    };
    expect([[2], [0, 1, 2, 3], [0, 2], [0, 1, 3], [1, 2], [3, 0]].map(graphsOf)).toEqual([1, 1, 2, 2, 1, 2]);
  });

  test("agrees with rows that the tracer has alike, and with no others", () => {
    const seen = log.rows.map(({ slot, position, written, needs, evict_ns }) => ({
      sequence_id: slot,
      position,
      write_ns: BigInt(written[0]),
      evict_ns: evict_ns === null ? null : BigInt(evict_ns),
      total_reads: needs,
    }));
    const begins = log.batches.map(({ begin_ns }) => BigInt(begin_ns));
    expect(agreeingRows(log, seen, begins)).toEqual({ agree: 12, all: 12 });
    expect(agreeingRows(log, seen.slice(0, -1), begins)).toEqual({ agree: 11, all: 12 });
    // Said some time later, but before the next batch; and after it.
    const later = (ns: bigint) => seen.map((row) => ({ ...row, evict_ns: row.evict_ns && row.evict_ns + ns }));
    expect(agreeingRows(log, later(800_000n), begins).agree).toBe(12);
    expect(agreeingRows(log, later(2_000_000n), begins).agree).toBeLessThan(12);
    const other = seen.map((row) => ({ ...row, total_reads: row.total_reads + (row.sequence_id === 1 ? 1 : 0) }));
    expect(agreeingRows(log, other, begins)).toEqual({ agree: 8, all: 12 });
  });

  test("is refused where it does not hold together", () => {
    const lines = LOG.split("\n").filter((line) => !line.includes("n_tokens = 5, truncated"));
    expect(() => serverLogOf(lines.join("\n").replace("n_tokens = 2, truncated", "n_tokens = 7, truncated"))).toThrow();
  });
});
