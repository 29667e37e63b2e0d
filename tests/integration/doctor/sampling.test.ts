import { expect, test } from "bun:test";
import { release } from "node:os";
import type { SampleEvent } from "../../../src/collect/ebpf/samples/sample-event.ts";
import { samplingFacts } from "../../../src/doctor/sampling.ts";
import { PERF_TYPE, SOFTWARE } from "../../../src/kernel/perf-event.ts";
import { heldNow } from "../collect/held-target.ts";

/** A timer in the place of a PMU's event, which this machine may not have. */
const TIMER: SampleEvent = {
  name: "timer",
  pmu: "software",
  type: PERF_TYPE.software,
  config: BigInt(SOFTWARE.cpu_clock),
  config1: 0n,
  config2: 0n,
  cpus: null,
  op: null,
  counts: true,
  latency: false,
  mostPrecise: 0,
  leastPrecise: 0,
  canExclude: false,
  leader: null,
  periodStep: 1,
  startPeriod: 1_000_003,
  share: 1,
};

test("events that the kernel opens are open for a moment only", async () => {
  const plan = { source: "pebs", events: [TIMER] } as const;
  await samplingFacts(plan, release());
  const before = heldNow();
  expect(await samplingFacts(plan, release())).toEqual({ source: "pebs", events: ["software/timer"], refused: null });
  expect(heldNow()).toEqual(before);
  expect(before.kernelObjects).toEqual([]);
});

test("events that the kernel refuses say why, and leave nothing open", async () => {
  const before = heldNow();
  const plan = { source: "pebs", events: [{ ...TIMER, type: 0x7fffffff }] } as const;
  const { refused } = await samplingFacts(plan, release());
  expect(refused?.message).toMatch(/ENOENT|EINVAL/);
  expect(refused?.hint.length).toBeGreaterThan(10);
  expect(heldNow()).toEqual(before);
});
