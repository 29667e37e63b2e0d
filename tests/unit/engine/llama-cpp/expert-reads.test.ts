import { describe, expect, test } from "bun:test";
import { expertReads } from "../../../../src/engine/llama-cpp/expert-reads.ts";
import { GGML_LAYOUT } from "../../../../src/engine/llama-cpp/offsets.ts";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import { rawRecord, tensorBytes } from "../../../fixtures/ggml-structs.ts";

const S = 1_000_000_000n;
const I32 = 26;

interface Call {
  readonly thread?: number;
  readonly name?: string;
  /** Numbers of each token, and the bytes from one token to the next. */
  readonly rows: readonly (readonly number[])[];
  readonly stride?: number;
  readonly type?: number;
  readonly unreadable?: number;
}

/** A call that looks rows up: its thread, the name of its result, the head of its numbers, the numbers. */
function call({ thread = 0, name = "ffn_moe_weights-3", rows, stride = 32, type = I32, unreadable = 0 }: Call) {
  const payload = new Uint8Array(8 + 32 + 80 + 384);
  const view = new DataView(payload.buffer);
  view.setInt32(0, thread, true);
  payload.set(new TextEncoder().encode(name), 8);
  const ne = [rows[0]?.length ?? 0, rows.length, 1, 1];
  payload.set(tensorBytes({ type, ne, nb: [4, stride, stride, stride] }).subarray(0, 80), 40);
  for (const [i, row] of rows.entries()) {
    for (const [k, one] of row.entries()) {
      const place = 120 + i * stride + 4 * k;
      if (place + 4 <= payload.length) view.setInt32(place, one, true);
    }
  }
  return rawRecord({ probe: PROBE.lookup, args: [1n, 2n], payload, unreadable });
}

const inLayerThree = () => expertReads(GGML_LAYOUT, (layer) => (layer === 3 ? 4 : null));

describe("experts of a mixture", () => {
  test("are counted by layer, one time for each token that reads them", () => {
    const reads = expertReads(GGML_LAYOUT, () => 4);
    expect(reads.hasCounted()).toBe(false);
    expect(reads.take(call({ rows: [[2, 0]] }))).toBe("kept");
    const some = [
      [1, 2],
      [2, 3],
    ];
    expect(reads.take(call({ rows: some, name: "ffn_moe_weights-1" }))).toBe("kept");
    expect(reads.take(call({ rows: [[2, 1]] }))).toBe("kept");
    expect(reads.hasCounted()).toBe(true);
    expect(reads.takeReads()).toEqual([
      { layer: 1, tokens: 2, reads: [0, 1, 2, 1] },
      { layer: 3, tokens: 2, reads: [1, 1, 2, 0] },
    ]);
    expect(reads.takeReads()).toEqual([]);
  });

  test("are told by the first thread of a layer, and by no other lookup of rows", () => {
    const reads = inLayerThree();
    expect(reads.take(call({ rows: [[0, 1]], thread: 1 }))).toBe("duplicate");
    expect(reads.take(call({ rows: [[0, 1]], name: "inp_embd" }))).toBe("passing");
    expect(reads.take(call({ rows: [[0, 1]], name: "ffn_moe_weights-4" }))).toBe("under_way");
    expect(reads.take(call({ rows: [[0, 1]], unreadable: 8 }))).toBe("unreadable");
    expect(reads.hasCounted()).toBe(false);
  });

  test("are those of batches of which all numbers were copied", () => {
    const reads = inLayerThree();
    const tokens = (count: number) => Array.from({ length: count }, () => [3, 1]);
    expect(reads.take(call({ rows: tokens(12) }))).toBe("kept");
    expect(reads.take(call({ rows: tokens(13) }))).toBe("too_many");
    expect(reads.takeReads()).toEqual([{ layer: 3, tokens: 12, reads: [0, 12, 0, 12] }]);
  });

  test("are not believed where a layer lacks one, has one twice, or its numbers are of another kind", () => {
    const reads = inLayerThree();
    const doubts = [{ rows: [[4, 0]] }, { rows: [[-1, 0]] }, { rows: [[1, 1]] }, { rows: [[0, 1]], type: 0 }];
    expect(doubts.map((one) => reads.take(call(one)))).toEqual(Array(4).fill("implausible"));
    expect(reads.take(call({ rows: [[0, 1, 2, 3, 0]] }))).toBe("implausible");
    expect(reads.take(call({ rows: [[0, 1]], stride: 4 }))).toBe("implausible");
    expect(reads.hasCounted()).toBe(false);
  });

  test("are asked for in one second of eight, from when they are first asked for", () => {
    const reads = inLayerThree();
    const asked = [0n, S - 1n, S, 7n * S, 8n * S, 9n * S].map((after) => reads.isAsking(100n + after));
    expect(asked).toEqual([true, true, false, false, true, false]);
  });
});
