import { describe, expect, test } from "bun:test";
import { expertReads } from "../../../../src/engine/llama-cpp/expert-reads.ts";
import { PROBE } from "../../../../src/engine/llama-cpp/probes.ts";
import { recordLayout } from "../../../../src/schema/records.ts";
import { ENGINE } from "../../../../src/schema/shared-numbers.ts";
import { rawRecord } from "../../../fixtures/ggml-structs.ts";

const S = 1_000_000_000n;
const HEAD = recordLayout("engine_rows");

interface Call {
  readonly name?: string;
  /** Numbers of each token that was copied. */
  readonly rows: readonly (readonly number[])[];
  /** Tokens of the call; as many as were copied unless told. */
  readonly tokens?: number;
  readonly unreadable?: number;
}

/** A call that looks rows up: the name of its result, and the numbers. */
function call({ name = "ffn_moe_weights-3", rows, tokens = rows.length, unreadable = 0 }: Call) {
  const row_bytes = 4 * (rows[0]?.length ?? 0);
  const payload = new Uint8Array(HEAD.bytes + Math.max(rows.length * row_bytes, ENGINE.rows_short_bytes));
  const view = new DataView(payload.buffer);
  payload.set(new TextEncoder().encode(name), HEAD.offsets.name);
  for (const [field, value] of Object.entries({ row_bytes, rows: tokens, held: rows.length }))
    view.setUint32(HEAD.offsets[field as "rows"], value, true);
  for (const [i, one] of rows.flat().entries()) view.setInt32(HEAD.bytes + 4 * i, one, true);
  return rawRecord({ probe: PROBE.lookup, args: [1n, 2n], payload, unreadable });
}

const FOUR = { experts: 4, expert_bytes: 100 };
const inLayerThree = () => expertReads((layer) => (layer === 3 ? FOUR : null));

describe("experts of a mixture", () => {
  test("are counted by layer, one time for each token that reads them", () => {
    const reads = expertReads(() => FOUR);
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
      { layer: 1, tokens: 2, reads: [0, 1, 2, 1], expert_bytes: 100, untold: 0 },
      { layer: 3, tokens: 2, reads: [1, 1, 2, 0], expert_bytes: 100, untold: 0 },
    ]);
    expect(reads.takeReads()).toEqual([]);
  });

  test("are told by no other lookup of rows", () => {
    const reads = inLayerThree();
    expect(reads.take(call({ rows: [[0, 1]], name: "inp_embd" }))).toBe("passing");
    expect(reads.take(call({ rows: [[0, 1]], name: "ffn_moe_weights-4" }))).toBe("under_way");
    expect(reads.take(call({ rows: [[0, 1]], unreadable: 1 }))).toBe("unreadable");
    expect(reads.hasCounted()).toBe(false);
  });

  test("are those of all tokens that were copied, and the others of their batch are counted", () => {
    const reads = inLayerThree();
    const rows = Array.from({ length: 3000 }, () => [3, 1]);
    expect(reads.take(call({ rows }))).toBe("kept");
    expect(reads.take(call({ rows, tokens: 4096 }))).toBe("kept");
    const [sum] = reads.takeReads();
    expect(sum).toEqual({ layer: 3, tokens: 6000, reads: [0, 6000, 0, 6000], expert_bytes: 100, untold: 1096 });
  });

  test("are not believed where a layer lacks one, has one twice, or none were copied", () => {
    const reads = inLayerThree();
    const doubts = [{ rows: [[4, 0]] }, { rows: [[-1, 0]] }, { rows: [[1, 1]] }, { rows: [], tokens: 1 }];
    expect(doubts.map((one) => reads.take(call(one)))).toEqual(Array(4).fill("implausible"));
    expect(reads.take(call({ rows: [[0, 1, 2, 3, 0]] }))).toBe("implausible");
    expect(reads.take(call({ rows: [[0, 1]], tokens: 0 }))).toBe("implausible");
    expect(reads.hasCounted()).toBe(false);
  });

  test("are asked for in one second of eight, from when they are first asked for", () => {
    const reads = inLayerThree();
    const asked = [0n, S - 1n, S, 7n * S, 8n * S, 9n * S].map((after) => reads.isAsking(100n + after));
    expect(asked).toEqual([true, true, false, false, true, false]);
  });
});
