import { describe, expect, test } from "bun:test";
import { guessWarnings } from "../../../../src/analyse/input/guess-warnings.ts";
import { mappedTotals } from "../../../../src/analyse/input/label-totals.ts";
import type { GivenRegion } from "../../../fixtures/regions.ts";
import { regionsOf } from "../../../fixtures/regions.ts";

const MIB = 2 ** 20;
const at = (place: number, region: Omit<GivenRegion, "addr" | "size_bytes">): GivenRegion => ({
  ...region,
  addr: BigInt(place * 16 * MIB),
  size_bytes: 16 * MIB,
});
const totals = (...rows: readonly GivenRegion[]) => mappedTotals(regionsOf(rows), () => 0, 1e9);

describe("what was given its class by a guess", () => {
  test("is counted beside all of the class, and said in a sentence", () => {
    const found = totals(
      at(0, { region_type: "weight", evidence: "file" }),
      at(1, { region_type: "weight", evidence: "phase" }),
      at(2, { region_type: "activation", evidence: "size" }),
      at(3, { region_type: "runtime", evidence: "mapping" }),
    );
    expect(
      found.map(({ region_type, bytes, guessed_bytes }) => [region_type, bytes / MIB, guessed_bytes / MIB]),
    ).toEqual([
      ["activation", 16, 16],
      ["runtime", 16, 0],
      ["weight", 32, 16],
    ]);
    expect(guessWarnings(found)).toEqual([
      "the engine told of no tensors: by a guess, from when memory was mapped and how much, labelled are activation (16.0 MiB of 16.0 MiB), weight (16.0 MiB of 32.0 MiB)",
    ]);
  });

  test("is nothing where the engine, a file or the kernel said what it is", () => {
    const found = totals(
      at(0, { region_type: "weight", evidence: "engine_probe" }),
      at(1, { region_type: "kv_cache", evidence: "engine_graph" }),
      at(2, { region_type: "weight", evidence: "file" }),
      at(3, { region_type: "runtime", evidence: "mapping" }),
    );
    expect(found.every(({ guessed_bytes }) => guessed_bytes === 0)).toBe(true);
    expect(guessWarnings(found)).toEqual([]);
  });
});
