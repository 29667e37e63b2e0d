import { describe, expect, test } from "bun:test";
import { armsOf } from "../../../src/compare/arms.ts";
import { commandWorkload } from "../../../src/compare/command-workload.ts";
import { measureArms } from "../../../src/compare/measure-arms.ts";
import type { UnitRequest, UnitResult } from "../../../src/compare/run-unit.ts";
import { MrmTraceError } from "../../../src/errors.ts";
import { FIGURE_NAMES, type FigureValues } from "../../../src/schema/observer-effect.ts";

const NOTHING = Object.fromEntries(FIGURE_NAMES.map((name) => [name, null])) as FigureValues;
const UNCOUNTED = { streamed_tokens: null, engine_tokens: null, engine_prompt_tokens: null };
const USE = { events_kept: 1000, events_lost: 0, loss_pct: 0, capture_bytes: 9000, cpu_pct: 1, rss_bytes: 5e7 };

/** A run of 1 s, or of 1.1 s with a tracer. */
function resultOf({ arm }: UnitRequest): UnitResult {
  const traced = arm.options !== null;
  const figures = { ...NOTHING, wall_s: traced ? 1.1 : 1 };
  return { figures, tokens: UNCOUNTED, threads: 1, pinned: true, openMp: false, tracer: traced ? USE : null };
}

function measure(unit: (request: UnitRequest, number: number) => UnitResult, signal = new AbortController().signal) {
  let number = 0;
  return measureArms({
    arms: armsOf(["ebpf"]),
    workload: commandWorkload(["true"]),
    placement: { targetCpus: [0], toolCpus: [1], pinned: true },
    scratch: "",
    timeoutMs: 1000,
    seed: 1,
    repeats: 10,
    marginPct: 2,
    signal,
    say: () => {},
    unit: async (request) => unit(request, number++),
  });
}

/** Three warm-ups, and three arms twice in a block. */
const [WARM_UPS, A_BLOCK] = [3, 6];

describe("an experiment", () => {
  test("warms every arm up, runs its blocks, and tells what an event cost", async () => {
    const { runs, arms, complete, failure } = await measure(resultOf);
    expect([complete, failure, runs.length]).toEqual([true, null, WARM_UPS + 5 * A_BLOCK]);
    expect(runs.slice(0, WARM_UPS).map(({ block }) => block)).toEqual([-1, -1, -1]);
    expect(arms.map(({ arm, verdict }) => [arm, verdict])).toEqual([
      ["off-again", "PASS"],
      ["ebpf", "FAIL"],
    ]);
    // 0.1 s over 1000 events.
    expect(arms[1]?.cost_per_event_ns?.value).toBeCloseTo(1e5, -1);
  });

  test("says of each run that had a tracer, also of those that count for nothing, how many events it lost", async () => {
    const { runs } = await measure((request, number) => {
      const result = resultOf(request);
      return result.tracer === null ? result : { ...result, tracer: { ...USE, events_lost: number } };
    });
    const traced = runs.filter(({ arm }) => arm === "ebpf");
    expect(traced.map(({ events_lost }) => events_lost)).toEqual(traced.map((run) => runs.indexOf(run)));
    expect(runs.filter((run) => run.arm !== "ebpf" && "events_lost" in run)).toEqual([]);
  });

  test("keeps its whole blocks when a run fails, without a claim, and says what failed", async () => {
    const measured = await measure((request, number) => {
      if (number === WARM_UPS + 2 * A_BLOCK + 3) throw new MrmTraceError("target", "ebpf: no end", "wait");
      return resultOf(request);
    });
    expect(measured).toMatchObject({ blocks: 2, complete: false, failure: { message: "ebpf: no end" } });
    expect(measured.runs).toHaveLength(WARM_UPS + 2 * A_BLOCK + 3);
    for (const { verdict, figures } of measured.arms) {
      expect([verdict, figures[0]?.blocks]).toEqual(["INCONCLUSIVE", 2]);
      expect(figures[0]?.why).toContain("after 2 of 5 declared blocks");
    }
  });

  test("keeps the runs that it has when a signal comes before a block is whole", async () => {
    const abort = new AbortController();
    const measured = await measure((request, number) => {
      if (number < WARM_UPS + 2) return resultOf(request);
      abort.abort(new MrmTraceError("interrupted", "SIGINT came", "nothing"));
      abort.signal.throwIfAborted();
      throw new Error("not reached");
    }, abort.signal);
    expect(measured).toMatchObject({ blocks: 0, complete: false, failure: null, deciding_figure: "wall_s" });
    expect(measured.runs).toHaveLength(WARM_UPS + 2);
    expect(measured.arms.every(({ verdict }) => verdict === "INCONCLUSIVE")).toBe(true);
  });

  test("has nothing to keep when a warm-up fails", async () => {
    const failing = measure(() => {
      throw new MrmTraceError("target", "it does not start", "start it");
    });
    expect(failing).rejects.toThrow("it does not start");
  });

  test("does not measure the noise alone where no tracer that was asked for can run", async () => {
    const asked: string[] = [];
    const failing = measure((request) => {
      asked.push(request.arm.name);
      throw new MrmTraceError("environment", "eBPF needs root", "sudo");
    });
    expect(failing).rejects.toThrow(
      expect.objectContaining({ code: "environment", message: "eBPF needs root (sudo)" }),
    );
    await failing.catch(() => null);
    expect(asked).toEqual(["ebpf"]);
  });
});
