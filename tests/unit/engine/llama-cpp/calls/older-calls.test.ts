import { describe, expect, test } from "bun:test";
import { olderCalls } from "../../../../../src/engine/llama-cpp/calls/older-calls.ts";
import { GGML_LAYOUT } from "../../../../../src/engine/llama-cpp/offsets.ts";
import { PROBE } from "../../../../../src/engine/llama-cpp/probes.ts";
import { stepLog } from "../../../../../src/engine/llama-cpp/step-log.ts";
import { type RecordFields, rawRecord } from "../../../../fixtures/ggml-structs.ts";

const CONTEXT = 0x9000n;
const MEMORY = 0x5n;
const weights = { bytes: 0, tensors: 0 };
const SHIFT = [0n, 2n, -1n, -2n];
const begin: RecordFields = { probe: PROBE.older_seq_add, args: [CONTEXT, ...SHIFT] };
const end: RecordFields = { probe: PROBE.older_seq_add, isReturn: true };

function rowsOf(records: readonly RecordFields[]) {
  const steps = stepLog({ pid: 7, layout: GGML_LAYOUT, weights, isSettled: () => false, cacheAt: () => null });
  for (const record of records) steps.take(rawRecord(record));
  return steps.takeRows().map(({ kind, sequence_id, detail }) => [kind, sequence_id, JSON.parse(detail ?? "null")]);
}

describe("calls that change a cache by older names", () => {
  test("are told as those by newer names, of the context that they are handed", () => {
    const owner = { context: "0x9000" };
    const range = { position_from: 2, position_to: -1 };
    const calls = [
      [PROBE.older_clear, []],
      [PROBE.older_seq_rm, [3n, 2n, -1n]],
      [PROBE.older_seq_cp, [3n, 4n, 0n, 7n]],
      [PROBE.older_seq_keep, [4n]],
      [PROBE.older_seq_add, [4n, 2n, -1n, -2n]],
      [PROBE.older_seq_div, [4n, 2n, -1n, 2n]],
    ] as const;
    const records = calls.flatMap(([probe, args]) => [
      { probe, args: [CONTEXT, ...args] },
      { probe, isReturn: true, args: [1n] },
    ]);
    expect(rowsOf(records)).toEqual([
      ["kv_clear", null, owner],
      ["kv_trim", 3, { ...owner, sequence: 3, ...range }],
      ["kv_copy", 4, { ...owner, sequence_from: 3, position_from: 0, position_to: 7 }],
      ["kv_keep", 4, owner],
      ["kv_shift", 4, { ...owner, ...range, positions: -2 }],
      ["kv_divide", 4, { ...owner, ...range, divisor: 2 }],
    ]);
  });

  test("are one where an older name calls a newer one, and each one where they follow each other", () => {
    const newest = { probe: PROBE.memory_seq_add, args: [MEMORY, ...SHIFT] };
    expect(rowsOf([begin, begin, end, end]).length).toBe(1);
    expect(rowsOf([begin, newest, end]).length).toBe(1);
    expect(rowsOf([begin, newest, { ...newest, isReturn: true }, newest, end]).length).toBe(1);
    expect(rowsOf([begin, end, begin, end]).length).toBe(2);
    expect(rowsOf([begin, end, newest, newest]).length).toBe(3);
    expect(rowsOf([begin, { ...newest, tid: 99 }, end]).length).toBe(2);
  });

  test("are over with the next batch of their thread, where their return was lost", () => {
    const calls = olderCalls();
    expect(calls.place(rawRecord(begin))).toBe("begin");
    expect(calls.place(rawRecord(begin))).toBe("again");
    calls.leave(rawRecord(begin).tid);
    expect(calls.place(rawRecord(begin))).toBe("begin");
    expect(calls.place(rawRecord({ ...begin, args: [CONTEXT, 1n] }))).toBe("begin");
  });
});
