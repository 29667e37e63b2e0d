import { describe, expect, test } from "bun:test";
import { kvTokens } from "../../../../src/label/kv/kv-tokens.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";

function step(kind: string, begin_ns: number, fields: Partial<StepRow> = {}): StepRow {
  const none = { n_tokens: null, n_sequences: null, position_first: null, sequence_id: null, detail: null };
  return { ...none, pid: 7, engine: "engine", kind, begin_ns, end_ns: begin_ns + 5, result: 0, ...fields };
}

const batch = (begin_ns: number, position_first: number, n_tokens = 1) =>
  step("decode", begin_ns, { position_first, n_tokens, n_sequences: 1 });

/** Position, whether its write was seen, the time of that, reads, and the end. */
const told = (steps: readonly StepRow[]) =>
  kvTokens(steps)
    .map((token) => [token.position, token.is_written, token.write_ns, token.total_reads, token.evict_ns] as const)
    .sort(([a], [b]) => (a ?? -1) - (b ?? -1));

describe("tokens of a cache that was filled before the first batch that was seen", () => {
  test("were there, are read by that batch and all later ones, and end with the rest", () => {
    expect(told([batch(100, 2), batch(200, 3), step("kv_clear", 300)])).toEqual([
      [0, false, 100, 2, 300],
      [1, false, 100, 2, 300],
      [2, true, 100, 1, 300],
      [3, true, 200, 0, 300],
    ]);
  });

  test("end where a batch goes back over them, or a trim takes them", () => {
    expect(told([batch(100, 2), batch(200, 1)]).slice(0, 2)).toEqual([
      [0, false, 100, 2, null],
      [1, false, 100, 1, 200],
    ]);
    const trim = step("kv_trim", 200, { detail: JSON.stringify({ position_from: 1, position_to: -1 }) });
    expect(told([batch(100, 2), trim])).toEqual([
      [0, false, 100, 1, null],
      [1, false, 100, 1, 200],
      [2, true, 100, 0, 200],
    ]);
  });

  test("are none where the cache was seen made or emptied, or the batch says no position", () => {
    const later = (first: StepRow) => told([first, batch(100, 2)]).filter(([, is_written]) => !is_written);
    expect(later(step("context", 50))).toEqual([]);
    expect(later(step("kv_clear", 50))).toEqual([]);
    expect(later(step("kv_trim", 50))).toHaveLength(2);
    expect(told([step("decode", 100, { n_tokens: 4, n_sequences: 4 })]).map(([, is_written]) => is_written)).toEqual(
      Array(4).fill(true),
    );
    expect(told([batch(100, 0, 66), batch(200, 66)]).every(([, is_written]) => is_written)).toBe(true);
  });
});
