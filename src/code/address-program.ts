/** Addresses that follow from the registers at a place of a program, and from what memory holds: put together once, computed for every tick there. */
import { type Operation, operate } from "./operation.ts";
import { PLACES } from "./register-file.ts";

/** Names a value: what a register holds at the place, by its number, a constant, what memory holds, or what an operation makes of two others. */
export type Value = number;

export interface AddressProgram {
  readonly constants: Uint32Array;
  /** LOAD is of the 8 bytes at the address on its left. */
  readonly operations: readonly (Operation | typeof LOAD)[];
  readonly left: readonly number[];
  readonly right: readonly number[];
  /** Slots in which the addresses are then. */
  readonly addresses: readonly number[];
}

/** Of what memory holds. */
export const LOAD = -1;

/**
 * Reads 8 bytes of the memory of the process as it is now, which need not be as it was at the place.
 * @param slot where they go
 * @returns false where they cannot be read
 */
export type LoadWord = (low: number, high: number, slot: number) => boolean;

export interface ProgramBuilder {
  /** As the one below null where there is no more room. */
  constant(bits: bigint): Value | null;
  /** Null where a side is unknown. */
  make(operation: Operation, left: Value | null, right: Value | null): Value | null;
  /** The 8 bytes at an address; null where that is unknown, or there were so many. */
  load(address: Value | null): Value | null;
  /** What computes these addresses, each once, and nothing else. */
  build(addresses: readonly Value[]): AddressProgram;
}

/** Registers, constants and results of a program. */
export const MOST_SLOTS = 512;
/** A read of memory is a call of the kernel for each tick: code that is not optimized has every address in memory. */
const MOST_LOADS = 8;
const WORD_BITS = 32n;

type Node =
  | { readonly constant: bigint }
  | { readonly operation: Operation | typeof LOAD; readonly left: Value; readonly right: Value };

export function programBuilder(): ProgramBuilder {
  const nodes: Node[] = [];
  const values = new Map<string, Value>();
  let loads = 0;

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
    load(address) {
      if (address === null) return null;
      const key = `load ${address}`;
      if (!values.has(key) && loads >= MOST_LOADS) return null;
      if (!values.has(key)) loads += 1;
      return numbered(key, { operation: LOAD, left: address, right: address });
    },
    build(addresses) {
      const constants: number[] = [];
      const [operations, lefts, rights]: [AddressProgram["operations"][number][], number[], number[]] = [[], [], []];
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

const NONE: ReadonlySet<number> = new Set();

/**
 * @param words the registers in the slots of their places, and room for `MOST_SLOTS`
 * @returns slots of which nothing is known, as memory could not be read
 */
export function runProgram(
  { constants, operations, left, right }: AddressProgram,
  words: Uint32Array,
  load: LoadWord = () => false,
): ReadonlySet<number> {
  words.set(constants, 2 * PLACES);
  const first = PLACES + constants.length / 2;
  let unknown: Set<number> | null = null;
  for (let n = 0; n < operations.length; n++) {
    const [operation, a, b] = [operations[n] as Operation | typeof LOAD, left[n] as number, right[n] as number];
    let isKnown = unknown === null || !(unknown.has(a) || unknown.has(b));
    if (operation !== LOAD) operate(operation, a, b, first + n, words);
    else isKnown &&= load(words[2 * a] as number, words[2 * a + 1] as number, first + n);
    if (!isKnown) unknown = (unknown ?? new Set()).add(first + n);
  }
  return unknown ?? NONE;
}
