import { describe, expect, test } from "bun:test";
import { GGML_LAYOUT } from "../../../../../src/engine/llama-cpp/offsets.ts";
import { PROBE } from "../../../../../src/engine/llama-cpp/probes.ts";
import { stepLog } from "../../../../../src/engine/llama-cpp/step-log.ts";
import { type RecordFields, rawRecord } from "../../../../fixtures/ggml-structs.ts";
import { change, ofSequence, START } from "../../../../fixtures/kv-steps.ts";
import { kvTokens } from "../../../../fixtures/listed-tokens.ts";

const CONTEXT = 0x9000n;
/** What is in the register beside the bool. */
const REST = 0x5500n;

function rowsOf(...records: readonly RecordFields[]) {
  const weights = { bytes: 0, tensors: 0 };
  const steps = stepLog({ pid: 7, layout: GGML_LAYOUT, weights, isSettled: () => false, cacheAt: () => null });
  for (const record of records) steps.take(rawRecord(record));
  return steps.takeRows();
}

describe("a call that takes rows away", () => {
  const newer = { probe: PROBE.memory_seq_rm, args: [5n, 3n, 2n, -1n] };
  const older = { probe: PROBE.older_seq_rm, args: [CONTEXT, 3n, 2n, -1n] };
  const end = (call: RecordFields, value: bigint): RecordFields => ({ ...call, isReturn: true, args: [value] });

  test("has another row of the same time where it was refused, which says so", () => {
    const began = { ...newer, time: 100n };
    const rows = rowsOf(newer, end(newer, REST + 1n), began, end(began, REST));
    expect(rows.map(({ kind, timestamp_ns, sequence_id }) => [kind, timestamp_ns, sequence_id])).toEqual([
      ["kv_trim", 0n, 3],
      ["kv_trim", 100n, 3],
      ["kv_trim", 100n, 3],
    ]);
    expect(rows.map(({ detail }) => JSON.parse(detail ?? "").refused ?? false)).toEqual([false, false, true]);
  });

  test("has one such row where an older name calls a newer one, and none where its begin was not seen", () => {
    const inside = rowsOf(older, { ...newer, args: [5n, 3n, 2n, -1n] }, end(newer, REST), end(older, REST));
    expect(inside.map(({ detail }) => JSON.parse(detail ?? "").refused ?? false)).toEqual([false, true]);
    expect(rowsOf(end(newer, REST))).toEqual([]);
    expect(rowsOf(older, end(older, 0n)).length).toBe(2);
  });

  test("leaves the rows of its sequence where they are, if it was refused", () => {
    const trim = change("kv_trim", 200, 0, { position_from: 1 });
    const says = change("kv_trim", 200, 0, { position_from: 1, refused: true });
    const ends = (...steps: (typeof trim)[]) =>
      kvTokens([START, ofSequence(100, 0, 0, 3), ...steps]).tokens.map(({ evict_ns }) => evict_ns);
    expect(ends(trim)).toEqual([null, 200, 200]);
    expect(ends(trim, says)).toEqual([null, null, null]);
    expect(ends(trim, says, change("kv_trim", 300, 0))).toEqual([300, 300, 300]);
  });

  test("leaves it unknown where the next token of its sequence stands, if it was refused", () => {
    const weights = { bytes: 0, tensors: 0 };
    const steps = stepLog({ pid: 7, layout: GGML_LAYOUT, weights, isSettled: () => false, cacheAt: () => null });
    const memory = { probe: PROBE.get_memory, args: [CONTEXT] };
    for (const record of [memory, end(memory, 5n), newer, end(newer, 0n)]) steps.take(rawRecord(record));
    expect(steps.kvHeads()).toEqual([]);
  });
});
