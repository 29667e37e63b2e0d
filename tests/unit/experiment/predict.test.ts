import { describe, expect, test } from "bun:test";
import { predict } from "../../../src/experiment/predict.ts";
import type { RunRecord } from "../../../src/experiment/run-record.ts";
import type { Cell } from "../../../src/experiment/sweep.ts";

const AXES = { context_length: 512, batch_size: 2, output_tokens: 101, prompt_tokens: 400, prompts: 2 };
const cell: Cell = { model: { id: "m", engine: "demo" }, model_id: "m", ...AXES };

/** A run with 0.4 s for its first prompt, 100 steps of 20 ms and 3 s of everything else. */
function record(given: Partial<RunRecord> = {}): RunRecord {
  return {
    path: "r",
    run_id: "r",
    model_id: "m",
    machine: "vm",
    experiment: { name: "x", about: {}, model: {}, ...AXES, rep_index: 0, is_warmup: false },
    validity: "clean",
    reasons: [],
    stopped_by: "target_ended",
    exit_code: 0,
    wall_s: 5.8,
    total_s: 7.8,
    bytes: 1000,
    prompt_tokens: 800,
    decode_tokens: 200,
    decode_tokens_per_s: 100,
    ttft_ms: 400,
    slowdown_pct: 1,
    observer_cpu_pct: 5,
    ...given,
  };
}

describe("what a run will take", () => {
  test("is unknown without an earlier run of its model", () => {
    expect(predict(cell, [])).toBeNull();
    expect(predict(cell, [record({ model_id: "other" }), record({ experiment: null })])).toBeNull();
  });

  test("is the mean and the range of earlier runs of the same combination", () => {
    const found = predict(cell, [record(), record({ total_s: 9.8, bytes: 3000, slowdown_pct: 3 })]);
    expect(found).toMatchObject({ time_lo_s: 7.8, time_hi_s: 9.8, disk_bytes: 3000, slowdown_pct: 2, runs: 2 });
    expect(found?.time_s).toBeCloseTo(8.8, 9);
    expect(found?.is_same).toBe(true);
  });

  test("is scaled from another combination by the time of a prompt's token and of a step", () => {
    const found = predict({ ...cell, output_tokens: 201 }, [record()]);
    expect(found?.is_same).toBe(false);
    expect(found?.time_s).toBeCloseTo(7.8 + 100 * 0.02, 9);
    expect(found?.disk_bytes).toBeCloseTo((1000 * 7.8) / 5.8, 6);
  });

  test("has a range where another number of sequences may or may not make a step longer", () => {
    const found = predict({ ...cell, batch_size: 4, prompts: 4 }, [record()]);
    // Twice the prompt tokens at 1 ms each; the 100 steps of 20 ms take as long, or twice as long.
    expect(found?.time_lo_s).toBeCloseTo(7.8 + 0.8, 9);
    expect(found?.time_hi_s).toBeCloseTo(7.8 + 0.8 + 2, 9);
  });

  test("is unknown where the earlier run does not tell its rates", () => {
    expect(predict({ ...cell, output_tokens: 5 }, [record({ decode_tokens_per_s: null })])).toBeNull();
  });
});
