import { describe, expect, test } from "bun:test";
import { computeMetrics } from "../../../../../src/analyse/metrics/registry.ts";
import type { DrawRegion } from "../../../../../src/collect/ebpf/watch/draw.ts";
import { watchOver } from "../../../../../src/collect/ebpf/watch/watch.ts";
import type { Batch } from "../../../../../src/columnar/batch.ts";
import { OP } from "../../../../../src/schema/operation.ts";
import { addrOf, PID, simulatedMachine } from "../../../../../src/simulate/machine.ts";
import { regionsOf, samplesOf } from "../../../../../src/simulate/samples.ts";
import { USUAL_POLICY, type World } from "../../../../../src/simulate/world.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";
import { input } from "../../../analyse/sample-input.ts";

const MS = 1e6;
const RUN_NS = 10_000 * MS;
const LOOK_NS = 10 * MS;
const PAGES = 200;
const PAGE_WORDS = 512;
/** Each page is there for a quarter of each turn, in which its words are read every 2 ms, and is then given back. */
const TURN_NS = 80 * MS;
const THERE_NS = TURN_NS / 4;
const READS = 10;

const random = seededRandom(1);
const phases = Array.from({ length: PAGES }, () => TURN_NS * random());
const phaseOf = (addr: bigint): number => phases[Number((addr - addrOf(0, 0)) / BigInt(8 * PAGE_WORDS))] ?? 0;
const sincePageCame = (addr: bigint, now: number): number => (now + TURN_NS - phaseOf(addr)) % TURN_NS;

function world(): World {
  const words = phases.flatMap((phase) => {
    const times = Array.from({ length: RUN_NS / TURN_NS }, (_, turn) =>
      Array.from({ length: READS }, (_, k) => turn * TURN_NS + phase + ((k + 0.5) * THERE_NS) / READS),
    );
    const time_ns = Float64Array.from(times.flat());
    const one = { time_ns, op: new Uint8Array(time_ns.length).fill(OP.load) };
    return Array.from({ length: PAGE_WORDS }, () => one);
  });
  const strata = [{ stratum: "unknown/anon", region_type: "unknown", words }] as const;
  return { run_ns: RUN_NS, token_period_ns: null, steps: [], strata };
}

/** The figures of a program that gives pages back, of memory of which only what is there is drawn, or of all of it. */
function figures(resident_only: boolean) {
  const going = world();
  const machine = simulatedMachine(going, USUAL_POLICY);
  const region: DrawRegion = {
    ...{ pid: PID, addr: addrOf(0, 0), size_bytes: 8 * PAGE_WORDS * PAGES, stratum: "unknown/anon", tensor: null },
    ...{ region_type: "unknown", resident_only },
  };
  const regions = [region];
  let now = 0;
  const all = { has: () => true, bytesOf: (_: string, frame: { bytes: number }) => frame.bytes };
  const there = {
    has: (_: DrawRegion, addr: bigint) => sincePageCame(addr, now) < THERE_NS,
    bytesOf: (_: string, { bytes }: { bytes: number }) => (bytes * THERE_NS) / TURN_NS,
  };
  using source = watchOver(machine, {
    regions: () => regions,
    tokenPeriodNs: () => null,
    rowsAhead: () => [],
    resident: resident_only ? there : all,
    budgetPct: USUAL_POLICY.budget_pct,
    registers: 4,
    seed: 1,
    affinityCpus: [],
  });
  const batches: Batch[] = [];
  for (let before = 0; now < RUN_NS; now += LOOK_NS) {
    machine.setNow(now);
    phases.forEach((phase, page) => {
      const turn = Math.floor((now - phase - THERE_NS) / TURN_NS);
      const gone = turn * TURN_NS + phase + THERE_NS;
      const addr = addrOf(0, page * PAGE_WORDS);
      if (gone > before) source.onGivenBack(PID, addr, BigInt(8 * PAGE_WORDS), BigInt(Math.round(gone)));
    });
    before = now;
    source.poll(BigInt(now));
    source.arm(BigInt(now));
    batches.push(...source.batches());
  }
  const { batches: last } = source.stop();
  const watches = samplesOf([...batches, ...last], 0n);
  const rows = computeMetrics({
    ...input({ watches, window_ns: RUN_NS, trap_cost_ns: USUAL_POLICY.trap_ns }),
    regions: regionsOf(regions, going, RUN_NS),
  });
  return { watches, row: rows.find(({ metric, phase }) => metric === "read_bytes_per_s" && phase === "all") };
}

/** Bytes that are read in a second. */
const REAL = (8 * PAGE_WORDS * PAGES * READS) / (TURN_NS / 1e9);

describe("of memory of which only what is there is drawn", () => {
  test("a watch ends with the page that it is on, and what it would have seen of the next one is in no figure", () => {
    const { watches, row } = figures(true);
    const ends = watches.filter(({ ended_by }) => ended_by === "unmap");
    expect(ends.length).toBeGreaterThan(watches.length / 2);
    for (const { begin_ns, end_ns } of ends) expect(end_ns - begin_ns).toBeLessThanOrEqual(THERE_NS);
    // Watches that went on without their pages had a bound of 0.86 of the truth.
    expect(row?.status).toBe("ok");
    expect((row?.value ?? 0) / REAL).toBeWithin(0.95, 1.05);
  });

  test("no watch ends so that is on a tensor, which is there whether it has pages or not", () => {
    const { watches, row } = figures(false);
    expect(watches.filter(({ ended_by }) => ended_by === "unmap")).toEqual([]);
    expect((row?.value ?? 0) / REAL).toBeWithin(0.85, 1.15);
  });
});
