import { describe, expect, test } from "bun:test";
import { type ActiveWatch, finishWatch, type WatchEnd } from "../../../../../src/collect/ebpf/watch/active-watch.ts";
import type { Trap } from "../../../../../src/collect/ebpf/watch/traps.ts";
import { ROLE } from "../../../../../src/schema/shared-numbers.ts";

const LIMIT = 3;

function watchWith(times: readonly number[]): ActiveWatch {
  const place = { ip: 100n, registerSi: 0n, registerDi: 0n, tid: 1, cpu: 0, role: ROLE.single, inKernel: false };
  const region = { pid: 1, addr: 4096n, size_bytes: 8, stratum: "s", region_type: "activation", tensor: null } as const;
  return {
    id: 1,
    spec: { slot: 0, generation: 1, pid: 1, addr: 4096n, sizeBytes: 8, mode: "rw", trapLimit: LIMIT, refreshCount: 1 },
    armed: { beginNs: 1000n, registers: 2, retries: 0, disarm: () => 9000n },
    draw: { region, addr: 4096n, sizeBytes: 8, stratumBytes: 8, inclusionProbability: 1, drawWeight: 1 },
    design: { name: "short", mode: "rw", trapLimit: LIMIT, dwellLimitNs: 1e8 },
    deadlineNs: 100_000_000n,
    traps: times.map((time): Trap => ({ ...place, timeNs: BigInt(time) })),
    end: null,
  };
}

/** How a watch with traps at these times ended, and when. */
function ended(times: readonly number[], end: WatchEnd) {
  const state = { hits: times.length, continued: 0, foreign: 0, kernel: 0, early: 0, foreignStopNs: 0n };
  const decode = () => ({ op: "load", evidence: "decoded", repeated: false }) as const;
  const result = finishWatch(watchWith(times), end, 9000n, state, decode);
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
