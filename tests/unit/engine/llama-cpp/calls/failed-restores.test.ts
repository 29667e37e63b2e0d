import { expect, test } from "bun:test";
import { GGML_LAYOUT } from "../../../../../src/engine/llama-cpp/offsets.ts";
import { PROBE } from "../../../../../src/engine/llama-cpp/probes.ts";
import { stepLog } from "../../../../../src/engine/llama-cpp/step-log.ts";
import { kvTokens, RESTORE_FAILED } from "../../../../../src/label/kv/kv-tokens.ts";
import { rawRecord } from "../../../../fixtures/ggml-structs.ts";
import { change, ofSequence, START } from "../../../../fixtures/kv-steps.ts";

test("a restore that took nothing has another row, which says that it failed", () => {
  const weights = { bytes: 0, tensors: 0 };
  const steps = stepLog({ pid: 7, layout: GGML_LAYOUT, weights, isSettled: () => false, cacheAt: () => null });
  const call = { probe: PROBE.restore_seq_file, args: [0xa000n, 1n, 2n, 3n] };
  for (const taken of [512n, 0n]) {
    steps.take(rawRecord(call));
    expect(steps.take(rawRecord({ ...call, isReturn: true, args: [taken] }))).toBe("kept");
  }
  expect(steps.takeRows().map(({ kind, sequence_id, detail }) => [kind, sequence_id, detail])).toEqual([
    ["kv_restore", 2, '{"context":"0xa000"}'],
    ["kv_restore", 2, '{"context":"0xa000"}'],
    ["kv_restore", 2, '{"context":"0xa000","failed":true}'],
  ]);
});

test("no row is told of a context in which a restore failed", () => {
  const steps = [START, ofSequence(100, 0, 0, 3), change("kv_restore", 200, 0, { failed: true })];
  expect(kvTokens(steps)).toMatchObject({ tokens: [], untold: RESTORE_FAILED });
});
