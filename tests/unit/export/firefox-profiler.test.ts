import { describe, expect, test } from "bun:test";
import { firefoxProfile } from "../../../src/export/firefox-profiler.ts";
import type { Frame, Stack } from "../../../src/export/stacks/stack.ts";
import { metadataWith } from "../../fixtures/run-metadata.ts";

const frame = (name: string, line: number | null = 1): Frame => ({ function: name, file: "a.py", line });
const stack = (pid: number, names: readonly string[], values: Stack["values"]): Stack => {
  return { pid, frames: names.map((name) => frame(name)), labels: {}, values };
};

describe("a profile for Firefox", () => {
  test("keeps what stacks share once, parents before their children", () => {
    const { shared, threads } = firefoxProfile(
      [
        stack(1, ["main", "a"], { faults: 2 }),
        stack(1, ["main", "b"], { faults: 3 }),
        stack(1, ["main"], { faults: 1 }),
      ],
      metadataWith(),
    );
    const { stackTable, frameTable, funcTable, stringArray } = shared;
    expect(stackTable).toEqual({ frame: [0, 1, 2], prefixOffset: [0, 1, 2], length: 3 });
    expect(frameTable.func.map((func) => stringArray[funcTable.name[func] ?? -1])).toEqual(["main", "a", "b"]);
    expect(threads.map(({ samples }) => [samples.stack, samples.weight])).toEqual([
      [
        [1, 2, 0],
        [2, 3, 1],
      ],
    ]);
    const columns = Object.values(frameTable).filter((column) => Array.isArray(column));
    expect(columns.every(({ length }) => length === frameTable.length)).toBe(true);
  });

  test("has a track for each value that a process has, CPU time in ms", () => {
    const { threads } = firefoxProfile(
      [stack(1, ["a"], { cpu_ns: 2_500_000 }), stack(2, ["a"], { allocated_bytes: 64, allocations: 0 })],
      metadataWith(),
    );
    expect(threads.map(({ pid, samples }) => [pid, samples.weightType, samples.weight])).toEqual([
      ["1", "tracing-ms", [2.5]],
      ["2", "bytes", [64]],
    ]);
  });
});
