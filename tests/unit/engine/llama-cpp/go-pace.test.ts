import { describe, expect, test } from "bun:test";
import { GGML_LAYOUT } from "../../../../src/engine/llama-cpp/offsets.ts";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import { stepLog } from "../../../../src/engine/llama-cpp/step-log.ts";
import { batchBytes, graphBytes, rawRecord } from "../../../fixtures/ggml-structs.ts";

const S = 1_000_000_000n;
const END = 2n ** 31n - 1n;

/** A runner of Ollama; times in ns. */
function runner() {
  const log = stepLog({
    ...{ pid: 7, layout: GGML_LAYOUT, weights: { bytes: 0, tensors: 0 } },
    ...{ isSettled: () => false, cacheAt: () => null },
  });
  const take = (time: bigint, probe: number, args: readonly bigint[] = [1n], payload?: Uint8Array, isReturn = false) =>
    log.take(rawRecord({ probe, args, isReturn, time, ...(payload === undefined ? {} : { payload }) }));
  return {
    begin: (time: bigint) => take(time, PROBE.go_begin),
    draw: (time: bigint) => take(time, PROBE.go_draw),
    /** A batch of one sequence that llama.cpp computes, from one time to another. */
    decode(tokens: number, from: bigint, until: bigint) {
      take(from, PROBE.decode, [1n], batchBytes({ tokens, runs: [[0, 0, tokens]] }));
      take(until, PROBE.decode, [0n], new Uint8Array(0), true);
    },
    /** One that Ollama's own engine computes. */
    graph(tokens: number, from: bigint, until: bigint) {
      take(from, PROBE.go_forward, [], batchBytes({ tokens, runs: [[0, Number(from), tokens]] }));
      take(from + 1n, PROBE.graph_compute, [1n], graphBytes({ tokens, cache: 4096n, cells: [[0, tokens]] }));
      take(until, PROBE.graph_compute, [0n], new Uint8Array(0), true);
    },
    drop: (time: bigint) => take(time, PROBE.go_remove, [1n, 0n, 5n, END]),
    told() {
      log.flush();
      const details = log.takeRows().filter(({ kind }) => kind === "engine");
      return details.map(({ detail }) => JSON.parse(detail ?? "{}").engine_time);
    },
  };
}

describe("the time of a token as Ollama counts it", () => {
  test("is from where Go calls for a batch to where it draws the token, and prompts are none of it", () => {
    const { begin, decode, draw, told } = runner();
    begin(10n);
    decode(5, 12n, 40n);
    draw(50n);
    begin(60n);
    decode(1, 62n, 80n);
    expect([draw(85n), draw(86n)]).toEqual(["kept", "duplicate"]);
    begin(90n);
    decode(1, 91n, 95n);
    draw(100n);
    expect(told()).toEqual([[2, 35]]);
  });

  test("is from one token to the next with its own engine, but for the first of an answer, before which something of the cache was dropped", () => {
    const { begin, graph, draw, drop, told } = runner();
    drop(5n);
    graph(5, 10n, 40n);
    // Where the step began was before the probes.
    expect(draw(50n)).toBe("duplicate");
    begin(60n);
    graph(1, 70n, 90n);
    draw(100n);
    // The token that is computed ahead is drawn by nobody.
    begin(110n);
    graph(1, 112n, 130n);
    begin(140n);
    drop(1000n);
    graph(1, 1010n, 1020n);
    expect(draw(1030n)).toBe("under_way");
    begin(1040n);
    graph(1, 1050n, 1060n);
    draw(1070n);
    expect(told()).toEqual([[2, 70]]);
  });

  test("is told once a second, and what is left in the end", () => {
    const { begin, decode, draw, told } = runner();
    for (let i = 0n; i < 5n; i++) {
      const from = (i * S) / 2n + S;
      begin(from);
      decode(1, from + 1n, from + 2n);
      draw(from + 10n);
    }
    expect(told()).toEqual([
      [1, 10],
      [2, 20],
      [2, 20],
    ]);
  });
});
