import { describe, expect, test } from "bun:test";
import {
  type ActiveWatch,
  endOf,
  finishWatch,
  type WatchEnd,
} from "../../../../../src/collect/ebpf/watch/active-watch.ts";
import type { SlotState } from "../../../../../src/collect/ebpf/watch/slots.ts";
import type { Trap } from "../../../../../src/collect/ebpf/watch/traps.ts";
import { ROLE, WATCH } from "../../../../../src/schema/shared-numbers.ts";

const LIMIT = 3;

function watchWith(times: readonly number[], refreshCount = 1): ActiveWatch {
  const place = { ip: 100n, registerSi: 0n, registerDi: 0n, tid: 1, cpu: 0, role: ROLE.single, inKernel: false };
  const region = { pid: 1, addr: 4096n, size_bytes: 8, stratum: "s", region_type: "activation", tensor: null } as const;
  return {
    id: 1,
    spec: { slot: 0, generation: 1, pid: 1, addr: 4096n, sizeBytes: 8, mode: "rw", trapLimit: LIMIT, refreshCount },
    armed: { registers: 2, retries: 0, letGo() {}, expose() {}, disarm: () => 9000n },
    beginNs: 1000n,
    draw: { region, addr: 4096n, sizeBytes: 8, stratumBytes: 8, inclusionProbability: 1, drawWeight: 1 },
    design: { name: "short", mode: "rw", trapLimit: LIMIT, dwellLimitNs: 1e8 },
    deadlineNs: 100_000_000n,
    traps: times.map((time): Trap => ({ ...place, timeNs: BigInt(time) })),
    end: null,
  };
}

/** How a watch with traps at these times ended, and when. */
function ended(times: readonly number[], end: WatchEnd, other: Partial<SlotState> = {}, refreshCount = 1) {
  const state = {
    hits: times.length,
    continued: 0,
    foreign: 0,
    kernel: 0,
    early: 0,
    probed: 0,
    probedNs: 0n,
    foreignStopNs: 0n,
    ...other,
  };
  const decode = () => ({ op: "load", evidence: "decoded", repeated: false }) as const;
  const watch = watchWith(times, refreshCount);
  const result = finishWatch(watch, end, 9000n, state, decode);
  if (!result.complete) throw new Error("not complete");
  return [result.watchRow.ended_by, Number(result.watchRow.end_ns), result.accessRows.length];
}

describe("a watch whose bytes went before anybody noticed that it had stopped", () => {
  test.each(["unmap", "exit", "lost"] as const)(
    "ended at its last trap where that came before their end by %s: nothing is known of the time after it",
    (by) => {
      expect(ended([1500, 2000, 2500], { by, atNs: 6000n })).toEqual(["trap_limit", 2500, 3]);
    },
  );

  test("ended with them where it was not stopped, or what came to their place later stopped it", () => {
    expect(ended([1500, 2000], { by: "unmap", atNs: 6000n })).toEqual(["unmap", 6000, 2]);
    expect(ended([1500, 2000, 7000], { by: "unmap", atNs: 6000n })).toEqual(["unmap", 6000, 2]);
    expect(ended([1500, 2000, 2500], { by: "exit", atNs: null })).toEqual(["exit", 9000, 3]);
  });

  test("ended at its last trap where it was to end by its time, or with the run", () => {
    expect(ended([1500, 2000, 2500], { by: "dwell", atNs: null })).toEqual(["trap_limit", 2500, 3]);
    expect(ended([1500, 2000, 2500], { by: "end", atNs: null })).toEqual(["trap_limit", 2500, 3]);
  });
});

test("a word that is used so often that it stops a watch before this begins is told as one, and not left out", () => {
  const early = WATCH.early_limit;
  expect(ended([], { by: "dwell", atNs: null }, { early })).toEqual(["trap_limit", 1000, 0]);
  expect(ended([1500], { by: "unmap", atNs: 6000n }, { early })).toEqual(["trap_limit", 1000, 0]);
  const state = { hits: 0, continued: 0, foreign: 0, kernel: 0, early, probed: 0, probedNs: 0n, foreignStopNs: 0n };
  expect(endOf(watchWith([]), state, 2000n)).toEqual({ by: "trap_limit", atNs: null });
});

describe("where the kernel counts every trap", () => {
  test("a watch ends at its last trap when those before it began and those of others are as many as it may have", () => {
    for (const other of [{ early: 1 }, { foreign: 1 }, { continued: 0, early: 1, foreign: 1 }])
      expect(ended([1500, 2500], { by: "dwell", atNs: null }, other, LIMIT)).toEqual(["trap_limit", 2500, 2]);
    expect(ended([1500], { by: "dwell", atNs: null }, { early: 1 }, LIMIT)).toEqual(["dwell", 9000, 1]);
  });

  test("traps of other processes alone end it when they are too many", () => {
    const foreign = { foreign: WATCH.foreign_limit, foreignStopNs: 4000n };
    const limit = 2 * WATCH.foreign_limit;
    const watch = watchWith([]);
    const deep = { ...watch, spec: { ...watch.spec, trapLimit: limit, refreshCount: limit } };
    const state = { hits: 0, continued: 0, kernel: 0, early: 0, probed: 0, probedNs: 0n, ...foreign };
    expect(endOf(deep, state, 5000n)).toEqual({ by: "foreign", atNs: 4000n });
  });

  test("a watch that a read of our own probes stopped was ended by us then, and not by the program", () => {
    const byProbe = { probed: 2, probedNs: 3000n };
    expect(ended([1500], { by: "dwell", atNs: null }, byProbe, LIMIT)).toEqual(["foreign", 3000, 1]);
    const state = {
      hits: 0,
      continued: 0,
      foreign: 0,
      kernel: 0,
      early: 0,
      foreignStopNs: 0n,
      probed: 3,
      probedNs: 4000n,
    };
    expect(endOf(watchWith([], LIMIT), state, 5000n)).toEqual({ by: "foreign", atNs: 4000n });
    // The last trap was the program's.
    expect(ended([1500, 3500], { by: "dwell", atNs: null }, byProbe, LIMIT)).toEqual(["trap_limit", 3500, 2]);
  });

  test("elsewhere only its own do", () => {
    expect(
      ended([1500, 2500], { by: "dwell", atNs: null }, { early: 9, foreign: 2, probed: 9, probedNs: 3000n }),
    ).toEqual(["dwell", 9000, 2]);
  });
});
