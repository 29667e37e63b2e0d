/** Addresses that follow from the registers at a place of a program: put together once, computed for every tick there. */
import { type Operation, operate } from "./operation.ts";
import { PLACES } from "./register-file.ts";

/** Names a value: what a register holds at the place, by its number, a constant, or what an operation makes of two others. */
export type Value = number;

export interface AddressProgram {
  readonly constants: Uint32Array;
  readonly operations: readonly Operation[];
  readonly left: readonly number[];
  readonly right: readonly number[];
  /** Slots in which the addresses are then. */
  readonly addresses: readonly number[];
}

export interface ProgramBuilder {
  /** As the one below null where there is no more room. */
  constant(bits: bigint): Value | null;
  /** Null where a side is unknown. */
  make(operation: Operation, left: Value | null, right: Value | null): Value | null;
  /** What computes these addresses, each once, and nothing else. */
  build(addresses: readonly Value[]): AddressProgram;
}

/** Registers, constants and results of a program. */
export const MOST_SLOTS = 512;
const WORD_BITS = 32n;

type Node =
  | { readonly constant: bigint }
  | { readonly operation: Operation; readonly left: Value; readonly right: Value };

export function programBuilder(): ProgramBuilder {
  const nodes: Node[] = [];
  const values = new Map<string, Value>();

  function numbered(key: string, node: Node): Value | null {
    const same = values.get(key);
    const next = PLACES + nodes.length;
    if (same !== undefined || next >= MOST_SLOTS) return same ?? null;
    nodes.push(node);
    values.set(key, next);
    return next;
  }

  return {
    constant(bits) {
      const constant = BigInt.asUintN(64, bits);
      return numbered(String(constant), { constant });
    },
    make(operation, left, right) {
      if (left === null || right === null) return null;
      return numbered(`${operation} ${left} ${right}`, { operation, left, right });
    },
    build(addresses) {
      const constants: number[] = [];
      const [operations, lefts, rights]: [Operation[], number[], number[]] = [[], [], []];
      const slots = new Map<Value, number>();
      // Constants come first, as they are the same at each tick.
      const needed = new Set<Value>(addresses);
      for (let n = nodes.length - 1; n >= 0; n--) {
        const node = nodes[n];
        if (node === undefined || !needed.has(PLACES + n)) continue;
        if ("operation" in node) needed.add(node.left).add(node.right);
        else {
          slots.set(PLACES + n, PLACES + constants.length / 2);
          constants.push(Number(node.constant & 0xffffffffn), Number(node.constant >> WORD_BITS));
        }
      }
      const slotOf = (value: Value): number => (value < PLACES ? value : (slots.get(value) ?? 0));
      for (const [n, node] of nodes.entries()) {
        if (!("operation" in node) || !needed.has(PLACES + n)) continue;
        slots.set(PLACES + n, PLACES + constants.length / 2 + operations.length);
        operations.push(node.operation);
        lefts.push(slotOf(node.left));
        rights.push(slotOf(node.right));
      }
      return {
        constants: Uint32Array.from(constants),
        operations,
        left: lefts,
        right: rights,
        addresses: [...new Set(addresses)].map(slotOf),
      };
    },
  };
}

/** @param words the registers in the slots of their places, and room for `MOST_SLOTS` */
export function runProgram({ constants, operations, left, right }: AddressProgram, words: Uint32Array): void {
  words.set(constants, 2 * PLACES);
  const first = PLACES + constants.length / 2;
  for (let n = 0; n < operations.length; n++) {
    operate(operations[n] as Operation, left[n] as number, right[n] as number, first + n, words);
  }
}
