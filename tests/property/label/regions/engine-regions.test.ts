import { expect, test } from "bun:test";
import fc from "fast-check";
import { engineRegions } from "../../../../src/label/regions/engine-regions.ts";
import type { TensorLifetime } from "../../../../src/regions/tensor-map.ts";

const MOST = 12;
const lives = fc
  .tuple(fc.nat(MOST), fc.integer({ min: 1, max: MOST }), fc.nat(MOST), fc.integer({ min: 1, max: MOST }))
  .map(
    ([addr, bytes, birth, ns]): TensorLifetime => ({
      ...{
        pid: 1,
        engine: "PyTorch",
        name: `${addr} ${bytes} ${birth} ${ns}`,
        logical_id: null,
        tensor_type: "f32",
        shape: "1",
      },
      ...{ layer: null, addr: BigInt(addr), size_bytes: BigInt(bytes), buffer: BigInt(addr), birth_ns: BigInt(birth) },
      ...{ birth_censored: false, evidence: "operand", region_type: "kv_cache", kv_layout: null, candidates: null },
      ...{ death_ns: BigInt(birth + ns), ended_by: "free" },
    }),
  );

const extentOf = ({ addr, size_bytes, birth_ns, death_ns }: TensorLifetime) => ({
  ...{ begin: Number(addr), end: Number(addr + size_bytes), birth_ns: Number(birth_ns), death_ns: Number(death_ns) },
});
const meet = (one: ReturnType<typeof extentOf>, other: ReturnType<typeof extentOf>): boolean =>
  one.begin < other.end && other.begin < one.end && one.birth_ns < other.death_ns && other.birth_ns < one.death_ns;

test("tensors of which none meets another are regions as they are; others lie in a region that has their name", () => {
  let apart = 0;
  fc.assert(
    fc.property(fc.array(lives, { maxLength: 8 }), (all) => {
      const regions = engineRegions(all, 0n);
      const extents = all.map(extentOf);
      const isApart = !extents.some((one, i) => extents.slice(i + 1).some((other) => meet(one, other)));
      for (const [i, { name }] of all.entries()) {
        const { begin, end, birth_ns, death_ns } = extents[i] as ReturnType<typeof extentOf>;
        const named = regions.filter((region) => region.tensor === name || region.candidates.includes(name ?? ""));
        expect(
          named.some(
            (region) =>
              region.begin <= begin && region.end >= end && region.birth_ns <= birth_ns && region.death_ns >= death_ns,
          ),
        ).toBe(true);
        if (isApart) expect(named).toContainEqual(expect.objectContaining({ begin, end, birth_ns, death_ns }));
      }
      if (isApart) expect(regions).toHaveLength(all.length);
      if (isApart && all.length > 2) apart += 1;
    }),
    { seed: 21, numRuns: 500 },
  );
  expect(apart).toBeGreaterThan(10);
});
