import { describe, expect, test } from "bun:test";
import { openRefused, probePrecise } from "../../../../../src/collect/ebpf/samples/open-event.ts";

const EINVAL = 22;
const EOPNOTSUPP = 95;
const EACCES = 13;
const granted = { ok: true, event: { fd: 3, closeAside() {}, [Symbol.dispose]() {} } } as const;

/** A PMU that grants levels up to `best` and refuses others with `errno`. */
function probe(most: number, least: number, best: number, errno: number) {
  const tried: number[] = [];
  const { result, level } = probePrecise(most, least, (asked) => {
    tried.push(asked);
    return asked <= best ? granted : { ok: false, errno };
  });
  return { tried, level, errno: result.ok ? null : result.errno };
}

describe("the precise level", () => {
  test("goes down until the kernel grants one", () => {
    expect(probe(3, 1, 3, EINVAL)).toEqual({ tried: [3], level: 3, errno: null });
    expect(probe(3, 1, 1, EOPNOTSUPP)).toEqual({ tried: [3, 2, 1], level: 1, errno: null });
  });

  test("never goes below the least whose samples have an address", () => {
    expect(probe(3, 1, 0, EINVAL)).toEqual({ tried: [3, 2, 1], level: 1, errno: EINVAL });
  });

  test("is not what a missing privilege or a busy PMU is about: such an answer is final", () => {
    expect(probe(3, 1, 0, EACCES)).toEqual({ tried: [3], level: 3, errno: EACCES });
  });
});

test("a refusal says event, CPU, errno and what to do", () => {
  const refused = (errno: number) => openRefused({ ok: false, errno, what: "ops of ibs_op" }, 7);
  expect(refused(16).message).toBe("opening ops of ibs_op on CPU 7 failed: EBUSY");
  expect(refused(16).hint).toContain("another tool samples");
  expect(refused(EACCES).hint).toContain("perf_event_paranoid");
  expect(refused(EOPNOTSUPP).hint).toContain("--source watch");
  expect(refused(EINVAL).exitCode).toBe(3);
});
