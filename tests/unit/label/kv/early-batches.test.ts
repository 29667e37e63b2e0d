/** Batches that leave their positions to the engine, of a context that was there before we came. */

import { describe, expect, test } from "bun:test";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";
import { ROWS } from "../../../../src/regions/kv-layout.ts";
import type { TensorLifetime } from "../../../../src/regions/tensor-map.ts";
import { batch, change, START, step } from "../../../fixtures/kv-steps.ts";
import { kvRows, kvTokens } from "../../../fixtures/listed-tokens.ts";

/** A batch of a sequence and at positions that the engine decides. */
const placeless = (begin_ns: number, n_tokens = 1) => step("decode", begin_ns, { n_tokens });
const cleared = (begin_ns: number) => change("kv_clear", begin_ns, null, { data: true });
const inProcess = (pid: number, steps: readonly StepRow[]) => steps.map((one) => ({ ...one, pid }));

const told = (steps: readonly StepRow[]) =>
  kvTokens(steps).tokens.map((token) => [token.position, token.is_written, token.write_ns, token.evict_ns]);

describe("batches that do not say where their rows are", () => {
  test("are left out before the cache is emptied for the first time, and what comes later is told", () => {
    const steps = [placeless(100, 4), placeless(200), cleared(300), batch(400, 0, 2), batch(500, 2)];
    expect(kvTokens(steps).untold).toBeNull();
    expect(told(steps)).toEqual([
      [0, true, 400, null],
      [1, true, 400, null],
      [2, true, 500, null],
    ]);
  });

  test("are left out with what was known before them, for its reads by them are not", () => {
    const steps = [batch(50, 2), placeless(100), batch(200, 4), cleared(300), batch(400, 0)];
    expect(told(steps)).toEqual([
      [0, false, 200, 300],
      [1, false, 200, 300],
      [2, false, 200, 300],
      [3, false, 200, 300],
      [4, true, 200, 300],
      [0, true, 400, null],
    ]);
  });

  test("are left out before the whole sequence is trimmed as well, not before a part of it is", () => {
    const trimmed = (position_from: number) => [placeless(100), change("kv_trim", 200, 0, { position_from })];
    expect(told([...trimmed(0), batch(300, 0)])).toEqual([[0, true, 300, null]]);
    expect(kvTokens([...trimmed(4), batch(300, 4)]).untold).not.toBeNull();
  });

  test("are a reason to tell nothing where they come later, or the context never becomes known", () => {
    expect(kvTokens([placeless(100), cleared(200), batch(300, 0), placeless(400)]).untold).toBe(
      "the engine does not tell the sequences of a batch",
    );
    expect(kvTokens([START, placeless(100)]).untold).toBe("the engine does not tell the sequences of a batch");
    const never = [...inProcess(8, [START, batch(50, 0), batch(60, 1)]), placeless(100), placeless(200)];
    expect(kvTokens(never).untold).toBe("2 of 4 batches were before their context was known");
  });

  test("of one process leave the figures of another as they are", () => {
    const parent = inProcess(8, [START, batch(50, 0, 3), batch(450, 3)]);
    const steps = [...parent, placeless(100), cleared(300), batch(400, 0)];
    const { tokens, untold } = kvTokens(steps.toSorted((one, other) => one.begin_ns - other.begin_ns));
    expect([untold, tokens.map(({ pid }) => pid)]).toEqual([null, [8, 8, 8, 7, 8]]);
  });
});

describe("what such batches leave open", () => {
  const CACHE: TensorLifetime = {
    ...{ pid: 7, engine: "engine", name: "cache_k_l0", logical_id: "cache_k_l0", tensor_type: "f16" },
    ...{ shape: "4x8x1x1", layer: 0, addr: 0x10000n, size_bytes: 64n, buffer: 1n },
    ...{ birth_ns: 0n, birth_censored: true, evidence: "engine_probe", region_type: "kv_cache" },
    ...{ kv_layout: ROWS, death_ns: null, ended_by: null, candidates: null },
  };
  const STEPS = [placeless(100, 2), placeless(200), cleared(300), batch(400, 0, 6), batch(500, 6), cleared(600)];

  test("is counted with the most that they can have written and needed", () => {
    const { early } = kvRows(STEPS, [CACHE], 0n);
    // Two batches of 3 tokens over a cache of 8: 7 rows are known, of which 6 were read once.
    expect(early).toEqual({
      why: "2 of 4 batches were before their context was known",
      written_share: 3 / 10,
      needed_share: 16 / 22,
      held: [[100, 300]],
    });
  });

  test("is nothing where all is known, or there is no cache to hold rows", () => {
    expect(kvRows(STEPS.slice(2), [CACHE], 0n).early).toBeNull();
    expect(kvRows(STEPS, [], 0n).early).toBeNull();
  });
});
