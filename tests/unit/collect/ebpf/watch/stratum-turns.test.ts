import { describe, expect, test } from "bun:test";
import { type Drawable, sharesOfStrata } from "../../../../../src/collect/ebpf/watch/stratum-turns.ts";
import type { RegionType } from "../../../../../src/schema/words.ts";

const MIB = 2 ** 20;

function strata(...facts: readonly [name: string, bytes: number, turns?: number][]): Map<string, Drawable> {
  return new Map(
    facts.map(([name, bytes, turns]) => [name, { region_type: name.split("/")[0] as RegionType, bytes, turns }]),
  );
}

describe("the turns of strata", () => {
  test("without an engine are five of eight those of the mapping that holds the data, and as many as they were together", () => {
    const shares = sharesOfStrata(
      strata(["unknown/anon", 1e6 * MIB], ["unknown/heap", 1], ["unknown/stack", 1], ["unknown/file", 1]),
    );
    expect(shares.get("unknown/anon")).toBeCloseTo(5 / 8, 6);
    for (const other of ["heap", "stack", "file"]) expect(shares.get(`unknown/${other}`)).toBeCloseTo(1 / 8, 6);
  });
  test("beside an engine's tensors are a quarter each for the rest in the mean, more for its large ones", () => {
    const shares = sharesOfStrata(
      strata(["weight/f16", MIB], ["kv_cache/k", 1], ["runtime/heap", 3 * MIB], ["runtime/anon", MIB]),
    );
    expect([...shares.values()]).toEqual([1 / 2.5, 1 / 2.5, 0.3125 / 2.5, 0.1875 / 2.5]);
  });
  test("are as told where they are", () => {
    const shares = sharesOfStrata(
      strata(["activation", 9 * MIB, 0.5], ["activation/reused", 1, 0.5], ["weight/f32", 1]),
    );
    expect([...shares.values()]).toEqual([0.25, 0.25, 0.5]);
  });
  test("are equal where nothing of the rest is in memory, or as much of each", () => {
    expect([...sharesOfStrata(strata(["unknown/anon", 0], ["unknown/heap", 0])).values()]).toEqual([0.5, 0.5]);
    const shares = sharesOfStrata(strata(["unknown/anon", 64], ["unknown/heap", 64]));
    expect([...shares.values()]).toEqual([0.5, 0.5]);
  });
  test("of a part of one are some of those that both have, and no other has fewer for it", () => {
    const whole = sharesOfStrata(strata(["weight/f16", MIB], ["unknown/anon", 3 * MIB], ["unknown/heap", MIB]));
    const parts = strata(["weight/f16", MIB], ["unknown/anon", 2 * MIB], ["unknown/heap", MIB]);
    parts.set("unknown/anon/sampled", { region_type: "unknown", bytes: MIB, turns: undefined, part_of_turns: 0.25 });
    const shares = sharesOfStrata(parts);
    for (const name of ["weight/f16", "unknown/heap"]) expect(shares.get(name)).toBeCloseTo(whole.get(name) ?? 0, 12);
    expect(shares.get("unknown/anon")).toBeCloseTo(0.75 * (whole.get("unknown/anon") ?? 0), 12);
    expect(shares.get("unknown/anon/sampled")).toBeCloseTo(0.25 * (whole.get("unknown/anon") ?? 0), 12);
    parts.delete("unknown/anon");
    expect([...sharesOfStrata(parts).values()].reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
  });
});
