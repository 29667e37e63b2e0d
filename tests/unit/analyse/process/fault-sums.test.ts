import { describe, expect, test } from "bun:test";
import { spanOf } from "../../../../src/analyse/input/span.ts";
import { spanSlices } from "../../../../src/analyse/input/span-slices.ts";
import { faultReader } from "../../../../src/analyse/process/fault-sums.ts";
import { placeIndex } from "../../../../src/label/regions/place-index.ts";
import { FAULT } from "../../../../src/schema/shared-numbers.ts";
import { regionsOf } from "../../../fixtures/regions.ts";

const WEIGHT = 0x10000;
const HEAP = 0x20000;
const SIZE = { size_bytes: 8192, death_ns: 1000 };
const REGIONS = regionsOf([
  { ...SIZE, addr: BigInt(WEIGHT), region_type: "weight", mapping_kind: "file", file: "/m.gguf" },
  { ...SIZE, addr: BigInt(HEAP), region_type: "unknown", mapping_kind: "heap", death_ns: 600, death_censored: false },
]);
const SPANS = [
  spanOf("all", "all", [[0, 1000]]),
  spanOf("weight_load", "all", [[0, 500]]),
  spanOf("idle", "all", [[500, 1000]]),
];

function sums(faults: readonly (readonly [time: number, address: number, flags: number])[]) {
  const reader = faultReader(REGIONS, placeIndex(REGIONS), spanSlices(SPANS, 1000));
  for (const [time, address, flags] of faults) reader.take(time, 1, address, flags);
  return reader.end();
}

const ofSpans = (told: ReturnType<typeof sums>, type: string, kind: "faults" | "first_touches" | "major_faults") =>
  told.classes.find(({ region_type }) => region_type === type)?.spans.map((counts) => counts[kind]);

describe("page faults", () => {
  const told = sums([
    [100, WEIGHT, FAULT.user],
    [100, WEIGHT, FAULT.major_done | FAULT.op_unknown],
    [700, WEIGHT + 4096, FAULT.user],
    [200, HEAP, FAULT.user | FAULT.write],
    [300, HEAP, FAULT.user | FAULT.write | FAULT.protection],
    [300, HEAP + 4096, FAULT.write],
    [700, HEAP, FAULT.user],
  ]);

  test("are told by class and phase, by the region that held the address at that time", () => {
    expect(ofSpans(told, "weight", "faults")).toEqual([2, 1, 1]);
    const heap = told.classes.find(({ mapping_kind }) => mapping_kind === "heap");
    expect(heap?.spans.map(({ faults }) => faults)).toEqual([3, 3, 0]);
    // The heap was given back before the last one.
    const nowhere = told.classes.find(
      ({ region_type, mapping_kind }) => region_type === "unknown" && mapping_kind === null,
    );
    expect(nowhere?.spans.map(({ faults }) => faults)).toEqual([1, 0, 1]);
  });

  test("count the two rows of a major fault as one fault", () => {
    expect(ofSpans(told, "weight", "major_faults")).toEqual([1, 1, 0]);
    expect(told.rows).toBe(7);
    expect(told.all.map(({ faults }) => faults)).toEqual([6, 4, 2]);
  });

  test("tell first touches from faults of protection, those of files, those that the kernel took, and writes", () => {
    const [whole] = told.all;
    const counts = { faults: 6, first_touches: 5, file_first_touches: 2, major_faults: 1, kernel_faults: 1 };
    expect(whole).toEqual({ ...counts, write_faults: 3 });
  });

  test("name the files", () => {
    expect(told.files).toEqual([{ file: "/m.gguf", first_touches: 2, major_faults: 1 }]);
  });
});
