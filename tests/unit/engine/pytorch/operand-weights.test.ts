import { describe, expect, test } from "bun:test";
import { operandWeights } from "../../../../src/engine/pytorch/operand-weights.ts";
import type { Matrix } from "../../../../src/engine/pytorch/tensor-impl.ts";

const S = 1_000_000_000n;
const matrix = (addr: bigint, more: Partial<Matrix> = {}): Matrix => ({
  ...{ addr, rows: 10n, width: 4n, bytes: 160n, type: "f32", isDense: true, isInMemory: true },
  ...more,
});
const [FIRST, SECOND, TABLE] = [matrix(0x1000n), matrix(0x2000n), matrix(0x9000n)];

function process(named: readonly bigint[] = []) {
  const weights = operandWeights(7, (_, addr) => (named.includes(addr) ? { name: "a.weight" } : null));
  let pass = 0;
  return {
    weights,
    /** Passes a second apart: a table is looked up in, and matrices are multiplied with. */
    passes(count: number, given: readonly Matrix[]) {
      for (let i = 0; i < count; i++) {
        pass += 1;
        const when = { timestamp_ns: BigInt(pass) * S, tid: 8 };
        weights.note(TABLE, pass, true, when);
        for (const one of given) weights.note(one, pass, false, when);
      }
    },
    rows: () => weights.takeRows().map(({ kind, addr, region_type, shape }) => [kind, addr, region_type, shape]),
  };
}
const told = (addr: bigint) => ["graph", addr, "weight", "4x10"];

describe("weights that operators are given", () => {
  test("are told of once they came in pass after pass, with the table that was looked up in", () => {
    const { weights, passes, rows } = process();
    passes(2, [FIRST, SECOND]);
    expect(rows()).toEqual([]);
    passes(10, [FIRST, SECOND]);
    expect(rows()).toEqual([told(0x9000n), told(0x1000n), told(0x2000n)]);
    expect(weights.live().map(({ addr, drawn, is_alone }) => [addr, drawn, is_alone])).toEqual([
      [0x9000n, false, true],
      [0x1000n, true, true],
      [0x2000n, true, true],
    ]);
  });

  test("are drawn from where a table is multiplied with too, and a file that names it has the second use told", () => {
    const tied = process();
    tied.passes(5, [FIRST, TABLE]);
    expect(tied.rows()).toEqual([told(0x9000n), told(0x1000n)]);
    expect(tied.weights.live().map(({ drawn }) => drawn)).toEqual([true, true]);
    const named = process([0x9000n, 0x1000n]);
    named.passes(5, [FIRST, TABLE]);
    expect(named.rows()).toEqual([["tied", 0x9000n, "weight", "4x10"]]);
    expect(named.weights.live()).toEqual([]);
  });

  test("are settled while nothing new comes, and not before all that comes is decided", () => {
    const { weights, passes } = process();
    expect(weights.isSettled()).toBe(true);
    passes(3, [FIRST]);
    expect(weights.isSettled()).toBe(false);
    passes(16, [FIRST]);
    expect(weights.isSettled()).toBe(true);
    passes(1, [SECOND]);
    expect(weights.isSettled()).toBe(false);
  });

  test("are none where they come twice in a pass, or where another one lay: they are made anew for each use", () => {
    const twice = process();
    twice.passes(5, [FIRST, FIRST]);
    expect(twice.rows()).toEqual([told(0x9000n)]);
    const over = process();
    over.passes(5, [FIRST, matrix(0x1080n)]);
    expect(over.rows()).toEqual([told(0x9000n)]);
  });

  test("that were told of and turn out to be none are taken back", () => {
    const { weights, passes, rows } = process();
    passes(5, [FIRST]);
    expect(rows()).toEqual([told(0x9000n), told(0x1000n)]);
    passes(1, [matrix(0x1040n)]);
    expect(rows()).toEqual([["free", 0x1000n, null, null]]);
    expect(weights.live().map(({ addr }) => addr)).toEqual([0x9000n]);
  });

  test("are left to the file that is mapped there", () => {
    const { passes, rows } = process([0x1000n, 0x9000n]);
    passes(5, [FIRST, SECOND]);
    expect(rows()).toEqual([told(0x2000n)]);
  });

  test("are one with the table where both are the same bytes", () => {
    const { passes, rows } = process();
    passes(5, [TABLE]);
    expect(rows()).toEqual([told(0x9000n)]);
  });

  test("are none on a device, nor where they are a part of longer rows", () => {
    const { weights, passes, rows } = process();
    passes(5, [matrix(0x1000n, { isInMemory: false }), matrix(0x2000n, { isDense: false })]);
    expect(rows()).toEqual([told(0x9000n)]);
    expect(weights.note(matrix(1n, { isInMemory: false }), 9, false, { timestamp_ns: 0n, tid: 8 })).toBe(
      "not_in_memory",
    );
  });
});
