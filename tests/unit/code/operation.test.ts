import { expect, test } from "bun:test";
import { OPERATION, type Operation, operate } from "../../../src/code/operation.ts";

const EDGES = [0n, 1n, 5n, 31n, 32n, 33n, 63n, 0x7fff_ffffn, 0x8000_0000n, 0xffff_ffffn, 0x1_0000_0000n];
const VALUES = [
  ...EDGES,
  ...EDGES.map((value) => ~value),
  0x9e37_79b9_7f4a_7c15n,
  1n << 63n,
  0x8123_4567_89ab_cdefn,
].map((value) => BigInt.asUintN(64, value));
const MEANING: Record<keyof typeof OPERATION, (left: bigint, right: bigint) => bigint> = {
  add: (left, right) => left + right,
  subtract: (left, right) => left - right,
  multiply: (left, right) => left * right,
  and: (left, right) => left & right,
  or: (left, right) => left | right,
  xor: (left, right) => left ^ right,
  shiftLeft: (left, right) => left << (right & 63n),
  shiftRight: (left, right) => left >> (right & 63n),
  shiftRightSigned: (left, right) => BigInt.asIntN(64, left) >> (right & 63n),
};

function result(operation: Operation, left: bigint, right: bigint): bigint {
  const slots = BigUint64Array.of(left, right, 0n);
  operate(operation, 0, 1, 2, new Uint32Array(slots.buffer));
  return slots[2] ?? 0n;
}

test.each(Object.entries(OPERATION))("%s is that of 64-bit numbers", (name, operation) => {
  const meaning = MEANING[name as keyof typeof OPERATION];
  for (const left of VALUES) {
    for (const right of VALUES) {
      expect([left, right, result(operation, left, right)]).toEqual([
        left,
        right,
        BigInt.asUintN(64, meaning(left, right)),
      ]);
    }
  }
});
