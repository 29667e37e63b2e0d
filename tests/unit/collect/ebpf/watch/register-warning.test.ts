import { describe, expect, test } from "bun:test";
import { registerWarning } from "../../../../../src/collect/ebpf/watch/register-warning.ts";
import { emptyCounts } from "../../../../../src/collect/ebpf/watch/watch-summary.ts";

const gdb = { pid: 12, comm: "gdb", traces: 13 };

function warning(free_at_start: number, least: number, armings: number, candidates = [gdb]): string | null {
  const registers = { wanted: 4, free_at_start, least, candidates };
  return registerWarning({ counts: { ...emptyCounts(), armings }, registers });
}

describe("the warning about debug registers", () => {
  test("is not there where all were free", () => {
    expect(warning(4, 4, 100)).toBeNull();
    expect(warning(4, 4, 0)).toBeNull();
  });

  test("says that nothing was watched only where nothing was", () => {
    expect(warning(0, 0, 0)).toBe("no debug register was free; tracing processes: gdb (12): nothing was watched");
    expect(warning(4, 0, 0, [])).toBe("no debug register was free: nothing was watched");
    expect(warning(0, 0, 174, [])).toBe("at times no debug register was free: less was watched");
  });

  test("says how many there were where some were missing, at the start or later", () => {
    expect(warning(3, 3, 50, [])).toBe("at times 3 of 4 debug registers were free: less was watched");
    expect(warning(4, 1, 50)).toBe(
      "at times 1 of 4 debug registers were free; tracing processes: gdb (12): less was watched",
    );
  });
});
