import { describe, expect, test } from "bun:test";
import { effectiveOptions } from "../../../src/config/effective.ts";
import { unusedOptions } from "../../../src/record/unused-options.ts";

function linesOf(args: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}): string[] {
  const { options, run } = effectiveOptions({ args, env });
  return unusedOptions(options, run);
}

describe("an option that does nothing", () => {
  test("is named with the collector that it is of", () => {
    expect(linesOf({ memray: "native" })).toEqual([
      "--memray does nothing: it is of the collector memray, and --collector is ebpf",
    ]);
    expect(linesOf({ perf: "page-faults", collector: "process" })).toEqual([
      "--perf does nothing: it is of the collector perf-mem, and --collector is process",
    ]);
    expect(linesOf({ budget: "2%", collector: "memray,process" })).toHaveLength(1);
  });

  test("is named with the source that it is of", () => {
    expect(linesOf({ "clock-hz": "50" })).toEqual([
      "--clock-hz does nothing: it is of --source clock, and --source is auto",
    ]);
    expect(linesOf({ "clock-hz": "50", source: "clock" })).toEqual([]);
  });

  test("is told of where a flag gives it alone", () => {
    expect(linesOf({}, { MRM_TRACE_MEMRAY: "native" })).toEqual([]);
    expect(linesOf({ memray: "native", collector: "memray" })).toEqual([]);
    expect(linesOf({})).toEqual([]);
  });

  test("is checked all the same", () => {
    expect(() => linesOf({ perf: "foo" })).toThrow('--perf: "foo" is none of mem, page-faults, cpu-clock');
  });
});
