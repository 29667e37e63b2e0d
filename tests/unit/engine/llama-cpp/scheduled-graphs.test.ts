import { describe, expect, test } from "bun:test";
import type { EngineBuild } from "../../../../src/engine/engine.ts";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import { processState } from "../../../../src/engine/llama-cpp/process-state.ts";
import { batchBytes, graphBytes, rawRecord } from "../../../fixtures/ggml-structs.ts";

const CACHE = 0x7f00_0000_1000n;
const BUILD: EngineBuild = { soname: null, buildId: null, isStripped: true };

/** A stripped runner of Ollama, which makes its cache before our eyes. */
function runner() {
  const state = processState(7, [BUILD]);
  let time = 0n;
  const take = (probe: number, isReturn: boolean, payload: Uint8Array = new Uint8Array(0), tid = 8) =>
    state.take(rawRecord({ probe, args: [0n, 1n], isReturn, time: ++time, tid, payload }));
  const graph = (first: number, tokens = 1): Uint8Array =>
    graphBytes({ tokens, cache: CACHE, cells: [[first, tokens]] });
  take(PROBE.go_cache, false);
  time = 0n;
  return {
    state,
    take,
    forward: (tokens: number, position: number) =>
      take(PROBE.go_forward, false, batchBytes({ tokens, runs: [[0, position, tokens]] }), 9),
    schedule: (first: number, tokens?: number, tid?: number) => take(PROBE.scheduled, false, graph(first, tokens), tid),
    scheduled: (tid?: number) => take(PROBE.scheduled, true, undefined, tid),
    compute: (first: number) => take(PROBE.graph_compute, false, graph(first)),
    computed: () => take(PROBE.graph_compute, true),
    steps: () => state.takeRows().steps.filter(({ kind }) => kind === "decode"),
  };
}

describe("graphs that are handed to the scheduler of a stripped program", () => {
  test("are steps with the sequences and cells of their batch, from there to its return", () => {
    const { forward, schedule, scheduled, steps } = runner();
    forward(5, 0);
    expect(schedule(0, 5)).toBe("kept");
    forward(1, 5);
    expect(scheduled()).toBe("kept");
    schedule(5);
    scheduled();
    expect(steps()).toMatchObject([
      { timestamp_ns: 2n, end_ns: 4n, n_tokens: 5, position_first: 0, detail: '{"kv_row_cells":[[0,5]]}' },
      { timestamp_ns: 5n, end_ns: 6n, n_tokens: 1, position_first: 5, sequence_id: 0, result: 0n },
    ]);
  });

  test("are left to the library that computes them, where that tells of them", () => {
    const { forward, schedule, scheduled, compute, computed, steps } = runner();
    forward(1, 0);
    schedule(0);
    compute(0);
    computed();
    expect(scheduled()).toBe("duplicate");
    expect(steps()).toMatchObject([{ timestamp_ns: 3n, end_ns: 4n, n_tokens: 1, position_first: 0 }]);
  });

  test("are told by thread, and one that began before the probes came was under way", () => {
    const { forward, schedule, scheduled, take, steps } = runner();
    expect(scheduled()).toBe("under_way");
    forward(1, 0);
    schedule(0, 1, 11);
    take(PROBE.graph_compute, false, graphBytes({ tokens: 3 }));
    expect(scheduled(12)).toBe("under_way");
    expect(scheduled(11)).toBe("kept");
    expect(steps()).toMatchObject([{ n_tokens: 1, position_first: 0, tid: 11 }]);
  });

  test("come with a word that not all functions are found", () => {
    expect(runner().state.untold?.()).toEqual([expect.stringMatching(/^the program is stripped: /)]);
    expect(processState(7, [{ soname: null, buildId: null }]).untold?.()).toEqual([]);
  });
});
