import { describe, expect, test } from "bun:test";
import type { RawRecord } from "../../../../src/engine/probing/raw-record.ts";
import { PROBE } from "../../../../src/engine/vllm/probes.ts";
import { follow } from "../../../../src/engine/vllm/process-state.ts";
import { promptSequences } from "../../../../src/schema/step-detail.ts";
import { attentionBytes, type CacheFields, type StepFields } from "../../../fixtures/vllm-structs.ts";

const [PID, TID] = [7, 8];
const POOL = 0x7f00_0000_0000n;
const ONE: StepFields = { requests: [{ tokens: 1, length: 9, blocks: [3] }] };

/** Where a layer keeps its rows, by elements from the begin of the pool, and what its call tells of the step where it is the first there. */
interface Call {
  readonly cache: CacheFields;
  readonly step?: StepFields;
}

/** Elements of a layer of the cache that is made unless told otherwise. */
const LAYER = 16 * 2 * 2 * 32 * 64;
const layerAt = (number: number, step: StepFields = ONE): Call =>
  number === 0 ? { cache: {}, step } : { cache: { keysAt: number * LAYER } };

/** A process whose calls come 10 ns apart, each returning before the next. */
function processOf() {
  const state = follow(PID, () => null);
  let now = 1000n;
  const take = (probe: number, isReturn: boolean, bytes = new Uint8Array()): void => {
    now += 5n;
    const record: RawRecord = {
      ...{ timestamp_ns: now, args: [0n, 0n, 0n, 0n, 0n], pid: PID, tid: TID, probe, isReturn },
      ...{ unreadable: 0, execEpoch: 0, payload: new DataView(bytes.buffer) },
    };
    expect(["kept", "under_way"]).toContain(state.take(record));
  };
  return {
    state,
    /** @returns when the last layer returned */
    step(calls: readonly Call[], kinds = 1): bigint {
      for (let i = 0; i < kinds; i++) take(PROBE.prepare, false);
      for (const { cache, step = null } of calls) {
        take(PROBE.attention, false, attentionBytes(cache, step));
        take(PROBE.attention, true);
      }
      return now;
    },
    /** All that it tells. */
    told() {
      state.flush();
      const { tensors, steps } = state.takeRows();
      const batches = steps.filter(({ kind }) => kind === "decode" || kind === "encode");
      return { tensors, batches, ends: batches.map(({ end_ns }) => end_ns), kinds: batches.map(({ kind }) => kind) };
    },
  };
}

describe("a step lasts until the last of its layers returns", () => {
  test("where each has a cache of its own, and it is told without another one behind it", () => {
    const { state, step } = processOf();
    const calls = [layerAt(0), layerAt(1), layerAt(2)];
    const ends = Array.from({ length: 3 }, () => step(calls));
    const before = state.takeRows().steps.filter(({ kind }) => kind === "decode");
    expect(before.map(({ end_ns }) => end_ns)).toEqual(ends);
    // It has no Python of which the objects could be read.
    state.look(() => null);
    expect(state.liveTensors().map(({ name, layer }) => [name, layer])).toEqual([
      ["cache_kv_l0", 0],
      ["cache_kv_l1", 1],
      ["cache_kv_l2", 2],
    ]);
  });

  test("where layers read the cache of another one", () => {
    const { step, told } = processOf();
    const calls = [layerAt(0), layerAt(1), layerAt(1), layerAt(0), layerAt(1)];
    const ends = Array.from({ length: 12 }, () => step(calls));
    const { tensors, ends: seen } = told();
    expect(seen).toEqual(ends);
    expect(tensors.map(({ name }) => name)).toEqual(["cache_kv_l0", "cache_kv_l1"]);
  });

  test("where layers of several kinds keep their rows in the same memory, which is then of no one layer", () => {
    const { step, told } = processOf();
    const calls = [layerAt(0), layerAt(1), layerAt(0), layerAt(1), layerAt(2)];
    const ends = Array.from({ length: 12 }, () => step(calls, 2));
    const { tensors, ends: seen } = told();
    expect(seen).toEqual(ends);
    expect(tensors.map(({ name, layer, logical_id }) => [name, layer, logical_id])).toEqual([
      ["cache_kv", null, null],
      ["cache_kv", null, null],
      ["cache_kv_l4", 4, "layer4.kv"],
    ]);
  });

  test("also behind one that was taken for two, as its preparation was lost", () => {
    const { state, step } = processOf();
    const calls = [layerAt(0), layerAt(1)];
    step(calls);
    step(calls, 0);
    const ends = Array.from({ length: 12 }, () => step(calls));
    const told = state.takeRows().steps.filter(({ kind }) => kind === "decode");
    expect(told.map(({ end_ns }) => end_ns).slice(-12)).toEqual(ends);
  });

  test("where a second model has more of them", () => {
    const { step, told } = processOf();
    for (let i = 0; i < 3; i++) step([layerAt(0), layerAt(1)]);
    const more = [POOL + 2n ** 30n, POOL + 2n ** 30n, POOL + 2n ** 30n].map((data, i) => ({
      cache: { data, valuesData: data, keysAt: i * LAYER },
      ...(i === 0 ? { step: ONE } : {}),
    }));
    const ends = Array.from({ length: 3 }, () => step(more));
    const { ends: seen, tensors } = told();
    // By the first of them it is seen that there are more.
    expect(seen.slice(4)).toEqual(ends.slice(1));
    expect(tensors.map(({ name }) => name)).toEqual([
      ...["cache_kv_l0", "cache_kv_l1"],
      ...["cache_kv_l0", "cache_kv_l1", "cache_kv_l2"],
    ]);
  });
});

test("two models that take turns have several caches, whose blocks have the same numbers; one that comes to lie elsewhere has one", () => {
  const kindsOf = (...pools: readonly bigint[]) => {
    const { state, step } = processOf();
    for (const [i, data] of pools.entries()) {
      const cache = { data, valuesData: data };
      step([{ cache, step: { requests: [{ tokens: 1, length: 1 + i, blocks: [3] }] } }]);
    }
    state.flush();
    const { steps } = state.takeRows();
    return Math.max(...steps.map(({ detail }) => Number(/"kv_caches":(\d+)/.exec(detail ?? "")?.[1] ?? 0)));
  };
  const other = POOL + 2n ** 30n;
  expect([kindsOf(POOL, POOL), kindsOf(POOL, other, other), kindsOf(POOL, other, POOL)]).toEqual([1, 1, 2]);
});

test("a step of one token is of a prompt where its request begins with it", () => {
  const { step, told } = processOf();
  for (const length of [1, 2]) step([layerAt(0, { requests: [{ tokens: 1, length, blocks: [3] }] })]);
  const prompts = told().batches.map((batch) => promptSequences(batch));
  expect(prompts).toEqual([[0], []]);
});

describe("a model that only encodes", () => {
  test("has no cache: what each step makes for its own keys and values is none, and its tokens are told", () => {
    const { state, step, told } = processOf();
    const ends = Array.from({ length: 12 }, (_, i) => {
      // Made anew for each step, of as many blocks as that needs.
      const data = POOL + BigInt(i) * 2n ** 20n;
      const cache: CacheFields = { blocks: 3, data, valuesData: data, storageBytes: 3 * 2 * 2 * 32 * 64 * 4 };
      const requests = [
        { tokens: 40, length: 40, blocks: [0, 1] },
        { tokens: 5, length: 5, blocks: [2] },
      ];
      const call: Call = { cache, step: { requests, hasWindow: i % 2 === 1 } };
      return step([call, call, call]);
    });
    expect(state.liveTensors()).toEqual([]);
    const { tensors, ends: seen, kinds, batches } = told();
    expect(tensors).toEqual([]);
    expect(seen).toEqual(ends);
    expect(new Set(kinds)).toEqual(new Set(["encode"]));
    expect(new Set(batches.map(({ n_tokens, n_sequences }) => `${n_tokens}/${n_sequences}`))).toEqual(
      new Set(["45/2"]),
    );
    expect(batches.every(({ detail }) => detail === null)).toBe(true);
    expect(state.untold?.()).toEqual([]);
  });
});
