import { describe, expect, test } from "bun:test";
import { OP } from "../../../src/schema/operation.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import type { World, WorldKind } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";

const MS = 1e6;
const SECOND = 1e9;
const RUN_NS = 20 * SECOND;
type Stops = readonly (readonly [begin_ns: number, end_ns: number])[];

/** 50 words that are read every 20 ms, and so many times as often while the tracer is stopped. */
const busyWhile = (stops: Stops, times: number, random: Random): World => ({
  run_ns: RUN_NS,
  token_period_ns: null,
  steps: [],
  stopped_ns: stops,
  strata: [
    {
      stratum: "weight",
      region_type: "weight",
      words: Array.from({ length: 50 }, () => {
        const moments: number[] = [];
        for (let time = 20 * MS * random(); time < RUN_NS; ) {
          moments.push(time);
          const isBusy = stops.some(([begin, end]) => time >= begin && time < end);
          time += (isBusy ? 1 / times : 1) * 20 * MS * (0.5 + random());
        }
        return { time_ns: Float64Array.from(moments), op: new Uint8Array(moments.length).fill(OP.load) };
      }),
    },
  ],
});

function readBytes(stops: Stops, times: number) {
  const kind: WorldKind = { name: "work while nobody looks", make: (random) => busyWhile(stops, times, random) };
  return coverageOf(kind, { seeds: 3 }).find(({ metric }) => metric === "read_bytes_per_s");
}

describe("stops of the tracer that are no longer than pauses between watches may be", () => {
  const twice = [
    [5 * SECOND, 5.3 * SECOND],
    [13 * SECOND, 13.3 * SECOND],
  ] as const;

  test("leave bounds where they are more than a little of the time, as all may be done meanwhile", () => {
    expect(readBytes(twice, 12)).toMatchObject({ ok: 0, bound: 3, right: 3 });
  });

  test("leave bounds where they are many and short, as of a group of processes whose share of the CPUs is used up", () => {
    const many = Array.from({ length: 13 }, (_, i) => [(1 + 1.4 * i) * SECOND, (1.09 + 1.4 * i) * SECOND] as const);
    expect(readBytes(many, 12)).toMatchObject({ ok: 0, bound: 3, right: 3 });
  });

  test("leave a value where they are little of it", () => {
    expect(readBytes(twice.slice(1), 2)).toMatchObject({ ok: 3, held: 3 });
  });
});
