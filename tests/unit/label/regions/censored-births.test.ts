import { describe, expect, test } from "bun:test";
import { oldMappings, sinceFirstLook } from "../../../../src/label/regions/censored-births.ts";
import { CENSORED, placeList } from "../../../../src/label/regions/places.ts";
import type { TensorLifetime } from "../../../../src/regions/tensor-map.ts";

const LOOK = 100n;
/** Times count from here. */
const ORIGIN = 50n;

interface Mapping {
  readonly pid: number;
  readonly addr: bigint;
  readonly since_ns: bigint;
  readonly birth_censored: boolean;
  readonly death_ns: bigint | null;
}

const mapping = (fields: Partial<Mapping> = {}): Mapping => ({
  pid: 7,
  addr: 0x1000n,
  since_ns: LOOK,
  birth_censored: true,
  death_ns: null,
  ...fields,
});

const tensor = (fields: Partial<TensorLifetime> = {}): TensorLifetime =>
  ({
    pid: 7,
    name: "blk.0.a.weight",
    addr: 0x2000n,
    size_bytes: 0x1000n,
    birth_ns: 500n,
    birth_censored: true,
    death_ns: null,
    ...fields,
  }) as TensorLifetime;

function births(lives: readonly TensorLifetime[], mappings: readonly Mapping[]) {
  const list = placeList();
  for (const { pid, addr, since_ns, birth_censored, death_ns } of mappings) {
    const begin = Number(addr);
    const death = death_ns === null ? Number.POSITIVE_INFINITY : Number(death_ns - ORIGIN);
    const censored = (birth_censored ? CENSORED.birth : 0) | (death_ns === null ? CENSORED.death : 0);
    list.add(pid, begin, begin + 0x4000, Number(since_ns - ORIGIN), death, 0, censored);
  }
  const old = oldMappings(list.places, new Set([7]), ORIGIN);
  return sinceFirstLook(lives, old).map(({ birth_ns, birth_censored }) => [birth_ns, birth_censored]);
}

describe("a tensor that was found in a graph", () => {
  test("lives since the first look at its mapping, and its birth stays unknown", () => {
    expect(births([tensor()], [mapping()])).toEqual([[LOOK, true]]);
  });

  test("stays as it was found in a mapping that was seen made, that came later, had ended, or is another process's", () => {
    for (const other of [
      mapping({ birth_censored: false }),
      mapping({ since_ns: 501n }),
      mapping({ death_ns: 400n }),
      mapping({ pid: 8 }),
      mapping({ addr: 0x8000n }),
    ]) {
      const elsewhere = mapping({ addr: 0x9000n });
      expect(births([tensor()], [elsewhere, other])).toEqual([[500n, true]]);
    }
  });

  test("lives since the first look at its process where its graph came a moment before, unless it ended before it", () => {
    expect(births([tensor({ birth_ns: 99n })], [mapping()])).toEqual([[LOOK, true]]);
    expect(births([tensor({ birth_ns: 98n, death_ns: 99n })], [mapping()])).toEqual([[98n, true]]);
    expect(births([tensor({ birth_ns: 99n })], [mapping({ birth_censored: false })])).toEqual([[99n, true]]);
  });

  test("stays as it was found where another held its bytes before", () => {
    const before = tensor({ name: "b", addr: 0x2800n, birth_ns: 200n, birth_censored: false, death_ns: 450n });
    expect(births([tensor(), before], [mapping()])).toEqual([
      [500n, true],
      [200n, false],
    ]);
    expect(births([tensor(), { ...before, addr: 0x3000n }], [mapping()])[0]).toEqual([LOOK, true]);
    expect(births([tensor(), { ...before, death_ns: 700n }], [mapping()])[0]).toEqual([LOOK, true]);
  });
});

test("a tensor that was seen placed keeps its birth", () => {
  expect(births([tensor({ birth_censored: false })], [mapping()])).toEqual([[500n, false]]);
});
