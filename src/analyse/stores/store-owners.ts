/** Whose a block is that stores fell on: a class as one source saw it, in one process. */
import { PAGE_GRAINS } from "../input.ts";
import { type BlockSums, blockSums } from "./write-runs.ts";

const WORD = 2 ** 32;

/** A class: what is of no known type is told apart by the kind of mapping. */
export interface StoreClass {
  readonly region_type: string;
  readonly mapping_kind: string | null;
}

/** A class as one source saw it. */
export function sourceKey({ region_type, mapping_kind }: StoreClass, source: string): string {
  return [region_type, region_type === "unknown" ? (mapping_kind ?? "") : "", source].join("\0");
}

export interface StoreOwners {
  /** Number of the owner, from 0. @param kind position of the class */
  find(kind: number, source: string, pid: number): number;
  /** Sums of the owner's class and source, by position in PAGE_GRAINS. */
  sums(owner: number): readonly BlockSums[];
  /** The same by `sourceKey`. */
  readonly byKey: ReadonlyMap<string, readonly BlockSums[]>;
}

export function storeOwners(classes: readonly StoreClass[]): StoreOwners {
  const byKey = new Map<string, readonly BlockSums[]>();
  const ofOwner: (readonly BlockSums[])[] = [];
  const numbersOf = new Map<string, Map<number, number>>();

  function add(kind: number, source: string): number {
    const key = sourceKey(classes[kind] ?? { region_type: "unknown", mapping_kind: null }, source);
    const sums = byKey.get(key) ?? PAGE_GRAINS.map(blockSums);
    byKey.set(key, sums);
    return ofOwner.push(sums) - 1;
  }

  return {
    byKey,
    sums: (owner) => ofOwner[owner] ?? [],
    find(kind, source, pid) {
      let numbers = numbersOf.get(source);
      if (numbers === undefined) {
        numbers = new Map();
        numbersOf.set(source, numbers);
      }
      const key = kind * WORD + pid;
      let number = numbers.get(key);
      if (number === undefined) {
        number = add(kind, source);
        numbers.set(key, number);
      }
      return number;
    },
  };
}
