import { expect, test } from "bun:test";
import { release } from "node:os";
import { openLifecycle } from "../../../../src/collect/ebpf/lifecycle/lifecycle.ts";
import type { SampleEvent } from "../../../../src/collect/ebpf/samples/sample-event.ts";
import { sampleWarnings } from "../../../../src/collect/ebpf/samples/sample-summary.ts";
import { openSamples, type SampleReader } from "../../../../src/collect/ebpf/samples/samples.ts";
import type { Batch } from "../../../../src/columnar/batch.ts";
import { monotonicNs } from "../../../../src/kernel/libc.ts";
import { PERF_TYPE, SOFTWARE } from "../../../../src/kernel/perf-event.ts";
import { balances } from "../../../../src/schema/ledger.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { holdTarget } from "../held-target.ts";
import { columnOf } from "../traced.ts";

const PAGES = 2311;
const NEVER = 1_000_000_000_000n;

/** A software event in the place of a PMU's: the same program, rings and counts, on every kernel. */
function softwareEvent(of: Partial<SampleEvent> & Pick<SampleEvent, "config" | "startPeriod">): SampleEvent {
  return {
    name: "software",
    pmu: "software",
    type: PERF_TYPE.software,
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
    share: 1,
    ...of,
  };
}

const FAULTS = softwareEvent({ name: "faults", config: BigInt(SOFTWARE.page_faults), startPeriod: 3, op: "store" });
const TIMER = softwareEvent({ name: "timer", config: BigInt(SOFTWARE.cpu_clock), startPeriod: 1_000_003 });

/** Runs count-faults under the events; it touches PAGES pages of two ranges, and waits. */
async function sampled(events: readonly SampleEvent[], options: { budgetPct: number; adaptEveryNs?: bigint }) {
  await using held = holdTarget([compileProgram("count-faults"), String(PAGES), "touch"]);
  using lifecycle = await openLifecycle(held.target.pid);
  using reader = await openSamples({
    plan: { source: "pebs", events },
    kernelRelease: release(),
    targetsFd: lifecycle.targetsFd,
    seed: 5,
    ...options,
  });
  lifecycle.addProcess(held.target.pid);
  const batches: Batch<"access">[] = [];
  const poll = (to: SampleReader) => {
    to.poll(monotonicNs());
    batches.push(...to.drain());
  };
  held.release();
  const said = JSON.parse(await held.line()) as Record<string, string>;
  for (let i = 0; i < 60; i++) {
    poll(reader);
    await Bun.sleep(10);
  }
  await held.finish();
  reader.detach();
  batches.push(...reader.drain());
  return { pid: held.target.pid, said, batches, ledger: reader.ledger(), summary: reader.summary() };
}

test("samples become accesses that stand for their period, and every one is accounted for", async () => {
  const { pid, said, batches, ledger, summary } = await sampled([FAULTS], { budgetPct: 50, adaptEveryNs: NEVER });
  const column = (name: string) => columnOf(batches, name);
  const first = BigInt(said.first ?? 0);
  const rows = column("address").map((address, i) => ({
    address: BigInt(address),
    pid: column("pid")[i],
    period: Number(column("period")[i]),
  }));
  expect(rows.length).toBeGreaterThan(PAGES / 4);
  expect(rows.every((row) => row.pid === pid)).toBe(true);
  // Each page of the first range faults once: its samples, each times its period, stand for all of its pages.
  const inside = rows.filter(({ address }) => address >= first && address < first + BigInt(PAGES * 4096));
  const sum = inside.reduce((of, { period }) => of + period, 0);
  expect(Math.abs(sum / PAGES - 1)).toBeLessThan(0.05);
  expect([...new Set(inside.map(({ period }) => period))].every((period) => period === 3 || period === 5)).toBe(true);

  const batch = batches[0];
  if (batch === undefined) throw new Error("no batch");
  expect(batch.columns.op_type).toMatchObject({ values: ["load", "store", "load_store", "unknown"] });
  const strings = (name: string) => {
    const found = batch.columns[name];
    return found && "codes" in found ? [...new Set(Array.from(found.codes, (code) => found.values[code]))] : [];
  };
  // The event says what they are: the samples themselves do not.
  expect([strings("op_type"), strings("op_evidence"), strings("source")]).toEqual([["store"], ["event"], ["pebs"]]);
  expect(column("timestamp_ns").every((time) => BigInt(time) > 0n && BigInt(time) < monotonicNs())).toBe(true);

  expect(ledger.every(balances)).toBe(true);
  expect(ledger.map(({ stream, source, stage, kept, dropped }) => [stream, source, stage, kept, dropped])).toEqual([
    ["access", "pebs", "observe", rows.length, 0],
    ["access", "pebs", "ring", rows.length, 0],
  ]);
  expect(ledger[0]?.filtered).toBe(summary.foreign + summary.not_memory + summary.kernel_address);
  expect(summary.events[0]?.caught ?? 0).toBeGreaterThan(0.95);
  expect(summary.hardware).toBe("untested on hardware");
  expect(sampleWarnings(summary)[0]).toContain("untested on hardware");
});

test("samples without an address are counted, and none is taken for an access", async () => {
  const { batches, ledger, summary } = await sampled([TIMER], { budgetPct: 50 });
  expect(batches).toEqual([]);
  expect(summary.samples).toBeGreaterThan(100);
  expect(summary.foreign + summary.not_memory).toBe(summary.samples);
  expect(summary.not_memory).toBeGreaterThan(0);
  expect(ledger.every(balances)).toBe(true);
});

test("the count of the event says how much the program saw, event by event", async () => {
  const { summary } = await sampled([FAULTS, TIMER], { budgetPct: 50, adaptEveryNs: NEVER });
  expect(summary.events.map(({ name }) => name)).toEqual(["faults", "timer"]);
  for (const event of summary.events) {
    expect(event.samples).toBeGreaterThan(0);
    expect(event.running).toBeGreaterThan(0.99);
    // A timer of a busy virtual CPU is late at times, and skips; how often is the machine's affair.
    expect(event.caught ?? Number.NaN).toBeWithin(event.name === "faults" ? 0.95 : 0, 1 + Number.EPSILON);
    expect(event.count).toBeGreaterThanOrEqual(event.samples);
  }
});

test("periods grow until the budget holds", async () => {
  const tight = await sampled([TIMER], { budgetPct: 0.01, adaptEveryNs: 50_000_000n });
  const loose = await sampled([TIMER], { budgetPct: 50, adaptEveryNs: 50_000_000n });
  // 0.01 % of a CPU is 40 samples of 2.5 us per second.
  expect(tight.summary.events[0]?.period).toBeGreaterThan(8_000_000);
  expect(loose.summary.events[0]?.period).toBeLessThanOrEqual(1_000_003);
  expect(tight.summary.samples).toBeLessThan(loose.summary.samples / 2);
});

test("an event that the kernel refuses is told with its CPU, errno and fix; one that is not needed is done without", async () => {
  const nothing = { type: 4242, config: 1n, startPeriod: 1009 };
  await expect(sampled([softwareEvent({ ...nothing, name: "all_loads" })], { budgetPct: 1 })).rejects.toThrow(
    /opening all_loads of software on CPU 0 failed: ENOENT/,
  );
  const latency = softwareEvent({ ...nothing, name: "load_latency", counts: false });
  const { summary } = await sampled([FAULTS, latency], { budgetPct: 50 });
  expect(summary.refused).toEqual(["opening load_latency of software on CPU 0 failed: ENOENT"]);
  expect(sampleWarnings(summary).some((line) => line.startsWith("not sampled: opening load_latency"))).toBe(true);
});
