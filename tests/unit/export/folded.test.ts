import { describe, expect, test } from "bun:test";
import { foldedLines } from "../../../src/export/folded.ts";
import { profileOf } from "../../../src/export/pprof.ts";
import type { Frame, Stack } from "../../../src/export/stacks/stack.ts";
import { metadataWith } from "../../fixtures/run-metadata.ts";

const frame = (name: string, line: number | null = null): Frame => ({ function: name, file: "a.py", line });
const stack = (frames: readonly Frame[], values: Stack["values"], labels = {}): Stack => ({
  pid: 7,
  frames,
  values,
  labels,
});

describe("folded stacks", () => {
  test("are one line for each stack, most first, without those that have nothing of the value", () => {
    const stacks = [
      stack([frame("main"), frame("a")], { faults: 2 }),
      stack([frame("main"), frame("b")], { faults: 5, major_faults: 1 }),
      stack([frame("main"), frame("a")], { faults: 4 }),
    ];
    expect(foldedLines(stacks, "faults")).toEqual(["pid 7;main;a 6", "pid 7;main;b 5"]);
    expect(foldedLines(stacks, "major_faults")).toEqual(["pid 7;main;b 1"]);
  });

  test("have no frame or line of a name's making, and keep the class of the bytes at the end", () => {
    const hostile = stack([frame("evil;frame\nline 9"), frame("operator new(unsigned long)")], { accesses: 1 });
    expect(foldedLines([hostile], "accesses")).toEqual(["pid 7;evil_frame_line 9;operator new(unsigned long) 1"]);
    const labelled = stack([frame("dot")], { accesses: 3.6 }, { class: "weight", operation: "load" });
    expect(foldedLines([labelled], "accesses")).toEqual(["pid 7;dot;weight;load 4"]);
  });
});

describe("a profile", () => {
  test("has each place once, the innermost first, and zeros for what a stack has nothing of", () => {
    const shared = frame("<module>", 1);
    const profile = profileOf(
      [stack([shared, frame("a", 2)], { faults: 3 }), stack([shared], { allocations: 2 }, { class: "weight" })],
      metadataWith(),
    );
    const text = (index: unknown): string => profile.stringTable.strings[Number(index)] ?? "";
    expect(profile.sampleType.map(({ type, unit }) => [text(type), text(unit)])).toEqual([
      ["allocations", "count"],
      ["faults", "count"],
    ]);
    expect(profile.function.map(({ name, systemName }) => [text(name), text(systemName)])).toEqual([
      ["[module]", "<module>"],
      ["a", "a"],
    ]);
    expect(profile.sample.map(({ locationId, value }) => [locationId, value])).toEqual([
      [
        [2, 1],
        [0, 3],
      ],
      [[1], [2, 0]],
    ]);
  });
});
