import { expect, test } from "bun:test";
import { GGML_LAYOUT } from "../../../../../src/engine/llama-cpp/offsets.ts";
import { PROBE, PROBE_POINTS } from "../../../../../src/engine/llama-cpp/probes.ts";
import { stepLog } from "../../../../../src/engine/llama-cpp/step-log.ts";
import { RESTORE_FAILED } from "../../../../../src/label/kv/kv-tokens.ts";
import { rawRecord } from "../../../../fixtures/ggml-structs.ts";
import { change, ofSequence, START } from "../../../../fixtures/kv-steps.ts";
import { kvTokens } from "../../../../fixtures/listed-tokens.ts";

const log = () =>
  stepLog({
    ...{ pid: 7, layout: GGML_LAYOUT, weights: { bytes: 0, tensors: 0 } },
    ...{ isSettled: () => false, cacheAt: () => null },
  });

test("a restore that took nothing has another row, which says that it failed", () => {
  const steps = log();
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

test("of a call that says whether it restored one byte counts, and all bytes of one that says how much", () => {
  const hasFailed = (probe: number, value: bigint): boolean => {
    const steps = log();
    for (const isReturn of [false, true])
      steps.take(rawRecord({ probe, isReturn, args: isReturn ? [value] : [0xa000n, 1n, 2n, 0n] }));
    return steps.takeRows().length === 2;
  };
  expect([0n, 1n, 0x7f00n, 0x7f01n].map((value) => hasFailed(PROBE.restore_file, value))).toEqual([
    ...[true, false],
    ...[true, false],
  ]);
  const counting = [PROBE.restore, PROBE.restore_seq, PROBE.restore_seq_part, PROBE.restore_seq_file];
  for (const probe of counting)
    expect([0n, 512n, 1n << 32n].map((bytes) => hasFailed(probe, bytes))).toEqual([true, false, false]);
  expect(PROBE_POINTS.flatMap(({ symbol, probe }) => (probe === PROBE.restore_file ? [symbol] : []))).toEqual([
    "llama_state_load_file",
    "llama_load_session_file",
  ]);
});

test("no row is told of a context in which a restore failed", () => {
  const steps = [START, ofSequence(100, 0, 0, 3), change("kv_restore", 200, 0, { failed: true })];
  expect(kvTokens(steps)).toMatchObject({ tokens: [], untold: RESTORE_FAILED });
});
