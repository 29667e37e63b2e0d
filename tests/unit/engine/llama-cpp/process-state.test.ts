import { describe, expect, test } from "bun:test";
import type { EngineBuild } from "../../../../src/engine/engine.ts";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import { processState } from "../../../../src/engine/llama-cpp/process-state.ts";
import {
  batchBytes,
  bufferBytes,
  fakeMemory,
  graphBytes,
  placedBytes,
  rawRecord,
  tensorBytes,
} from "../../../fixtures/ggml-structs.ts";

const BUFFER = 0x1_0020_0000n;
const DATA = 0x7f00_0000_0000n;
const LIST = 0x1_0010_0000n;
/** Where a callback has each node computed: a graph of one node, made anew at the same place of the stack. */
const VIEW = 0x7ffd_0000_1000n;

/** A process whose graphs of one node each read one weight. */
function callbackRun(nodes: number) {
  const memory = fakeMemory();
  memory.put(BUFFER, bufferBytes(DATA, 1 << 20));
  const list = new DataView(new ArrayBuffer(8 * nodes));
  for (let i = 0; i < nodes; i++) {
    const at = 0x1_0100_0000n + BigInt(i) * 0x2000n;
    const weight = memory.put(
      at,
      tensorBytes({ name: `blk.${i}.ffn_up.weight`, buffer: BUFFER, data: DATA + BigInt(128 * i) }),
    );
    const data = DATA + BigInt(128 * i + 64);
    memory.put(at + 0x1000n, tensorBytes({ name: `ffn_up-${i}`, buffer: BUFFER, data, src: [weight] }));
    list.setBigUint64(8 * i, at + 0x1000n, true);
  }
  memory.put(LIST, new Uint8Array(list.buffer));
  const state = processState(7, []);
  return {
    state,
    compute(first: number, count: number) {
      const payload = graphBytes({ tokens: 1 });
      const head = new DataView(payload.buffer);
      head.setInt32(4, count, true);
      head.setBigUint64(16, LIST + BigInt(8 * first), true);
      state.take(rawRecord({ probe: PROBE.graph_compute, args: [VIEW], payload }));
    },
    /** The graph of all nodes from begin to end, as one that writes a row of a cache. */
    step() {
      const payload = graphBytes({ tokens: 1, cache: DATA, cells: [[0, 1]] });
      const head = new DataView(payload.buffer);
      head.setInt32(4, nodes, true);
      head.setBigUint64(16, LIST, true);
      state.take(rawRecord({ probe: PROBE.graph_compute, args: [VIEW], payload }));
      state.take(rawRecord({ probe: PROBE.graph_compute, args: [0n], isReturn: true }));
    },
    look: () => state.look(memory.read),
    weights: () => state.liveTensors().filter(({ region_type }) => region_type === "weight").length,
  };
}

describe("the graphs of one process", () => {
  test("are all read where a callback has each node computed as a graph of its own, at one address", () => {
    const run = callbackRun(40);
    for (let step = 0; step < 2; step++) for (let node = 0; node < 40; node++) run.compute(node, 1);
    expect(run.look().map(({ unread_nodes }) => unread_nodes)).toEqual(Array.from({ length: 40 }, (_, i) => 39 - i));
    expect(run.weights()).toBe(40);
    run.compute(3, 1);
    expect(run.look()).toEqual([]);
  });

  test("are read again where many were over before the probes of the calls that decode were there", () => {
    const run = callbackRun(4);
    for (let i = 0; i < 40; i++) run.step();
    run.look();
    // As if no call decoded: what such a graph is given has buffers without a usage.
    expect(run.weights()).toBe(0);
    run.state.take(rawRecord({ probe: PROBE.decode, args: [1n], payload: batchBytes({ tokens: 1 }) }));
    run.step();
    run.look();
    expect(run.weights()).toBe(4);
  });

  test("wait for the next look where there are many", () => {
    const run = callbackRun(600);
    for (let node = 0; node < 600; node++) run.compute(node, 1);
    const looks = run.look();
    expect(looks.length).toBeLessThan(600);
    expect(looks.at(-1)?.unread_nodes).toBe(600 - looks.length);
    while (run.look().length > 0);
    expect(run.weights()).toBe(600);
  });

  test("are read as they were last, where the same list of nodes was used again", () => {
    const run = callbackRun(40);
    run.compute(0, 40);
    run.compute(0, 12);
    expect(run.look()).toMatchObject([{ nodes: 12, unread_nodes: 0, tensors: 24 }]);
    expect(run.look()).toEqual([]);
    run.compute(0, 40);
    expect(run.look()).toMatchObject([{ nodes: 40, found: 56 }]);
  });
});

test("the cells that graphs write are told of no library that may move rows to others afterwards", () => {
  const cellsOf = (build: EngineBuild) => {
    const state = processState(7, [build]);
    const tensor = tensorBytes({ name: "cache_k_l0", type: 1, ne: [4, 16, 1, 1], nb: [2, 8, 128, 128] });
    const payload = placedBytes(bufferBytes(DATA, 1 << 20), tensor);
    state.take(rawRecord({ probe: PROBE.tensor_alloc, args: [BUFFER, 0n, DATA], payload }));
    state.take(rawRecord({ probe: PROBE.decode, args: [9n], payload: batchBytes({ tokens: 2 }) }));
    const graph = graphBytes({ tokens: 2, cache: DATA, cells: [[3, 2]] });
    state.take(rawRecord({ probe: PROBE.graph_compute, args: [VIEW], payload: graph }));
    state.take(rawRecord({ probe: PROBE.decode, isReturn: true, args: [0n] }));
    const step = state.takeRows().steps.find(({ kind }) => kind === "decode");
    return JSON.parse(step?.detail ?? "{}").kv_row_cells;
  };
  const build = { soname: null, buildId: null };
  expect(cellsOf(build)).toEqual([[3, 2]]);
  expect(cellsOf({ ...build, hasOlderNames: true })).toBeUndefined();
});
