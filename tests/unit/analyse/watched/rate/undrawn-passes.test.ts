import { describe, expect, test } from "bun:test";
import { type Group, groupsOf } from "../../../../../src/analyse/input/group.ts";
import type { WatchSample } from "../../../../../src/analyse/input/input.ts";
import { writeBytesPerSecond } from "../../../../../src/analyse/metrics/byte-rates.ts";
import { hitsPerPass } from "../../../../../src/analyse/metrics/hits-per-pass.ts";
import { interAccessInterval } from "../../../../../src/analyse/metrics/inter-access-interval.ts";
import { figuresOf } from "../../../../../src/analyse/metrics/registry.ts";
import { retention } from "../../../../../src/analyse/metrics/retention.ts";
import { UNDRAWN } from "../../../../../src/analyse/watched/rate/undrawn-passes.ts";
import { meanTrapNs, trapDelay } from "../../../../../src/analyse/watched/trap-delay.ts";
import type { OP } from "../../../../../src/schema/operation.ts";
import { input, MS, region, watch } from "../../sample-input.ts";

/** What one trap may add to a time, where the recording does not say how long one is. */
const ONE_TRAP_NS = trapDelay(1, meanTrapNs(null));

const PER_STRATUM = 100;
const DWELL_MS = 40;

/** A word that is written every 5 ms and read 2 ms later. */
function busy(i: number): WatchSample {
  const begin = 9.5 * i * MS;
  const hits: [number, keyof typeof OP][] = [];
  for (let t = begin + ((i % 5) + 0.5) * MS; t < begin + DWELL_MS * MS && hits.length < 32; t += 5 * MS)
    hits.push([t, "store"], [t + 2 * MS, "load"]);
  return watch(hits, {
    watch_id: i,
    begin_ns: begin,
    end_ns: begin + DWELL_MS * MS,
    trap_limit: 32,
    dwell_limit_ns: DWELL_MS * MS,
  });
}

/** The class has such words, and `times` as many bytes of a stratum of which no watch saw a pass. */
function withIdle(times: number): Group {
  const idle = Array.from({ length: PER_STRATUM }, (_, i) => {
    const begin = (9.5 * i + 4) * MS;
    return watch([], {
      watch_id: PER_STRATUM + i,
      stratum: "idle",
      stratum_bytes: 8000 * times,
      inclusion_probability: 1 / 1000 / times,
      begin_ns: begin,
      end_ns: begin + DWELL_MS * MS,
      trap_limit: 32,
      dwell_limit_ns: DWELL_MS * MS,
    });
  });
  const watches = [...Array.from({ length: PER_STRATUM }, (_, i) => busy(i)), ...idle];
  const [group] = groupsOf(input({ watches, regions: [region()] }));
  if (group === undefined) throw new Error("no group");
  return group;
}

const rowsOf = (group: Group) =>
  new Map(
    figuresOf(group, [retention, interAccessInterval, writeBytesPerSecond]).map((row) => [row.metric, row] as const),
  );

describe("strata of which no watch saw a pass", () => {
  test("change next to nothing where they are small", () => {
    const rows = rowsOf(withIdle(0.1));
    expect(rows.get("retention_p50_ns")).toMatchObject({
      status: "ok",
      value: 2 * MS,
      lo: 2 * MS - ONE_TRAP_NS,
      hi: 2 * MS,
    });
    expect(rows.get("iai_p50_ns")).toMatchObject({ status: "ok", value: 2 * MS });
    expect(rows.get("write_bytes_per_s")?.status).toBe("ok");
  });

  test("leave no median, and bounds of a sum, where they are so large that they may have most of the passes", () => {
    const rows = rowsOf(withIdle(1000));
    for (const metric of ["retention_p50_ns", "iai_p50_ns"]) {
      expect(rows.get(metric)).toMatchObject({ status: "insufficient", lo: null, hi: null, why: UNDRAWN });
    }
    const written = rows.get("write_bytes_per_s");
    expect(written).toMatchObject({ status: "bound", why: UNDRAWN });
    // 3.62 of 100 watches, for 80 kB each, may have seen as many in 40 ms as those of words of 8 kB (Clopper-Pearson): these show 8, as 200 come in a second.
    const [small, large] = [8000 * 200, (8 * 3.62 * 8e6) / 100 / 0.04];
    expect(written?.hi).toBeWithin(small + large, 1.2 * (small + large));
  });

  test("leave a high percentile its lower end: what was not seen may be shorter, but not all of what was", () => {
    expect(rowsOf(withIdle(100)).get("iai_p90_ns")).toMatchObject({
      status: "bound",
      value: null,
      lo: 3 * MS - ONE_TRAP_NS,
    });
  });
});

const OTHER_MS = 3;
const BURST = { writes: 24, gap_ms: 0.2 };

/** Each word of the class is written once in 40 ms; those of a second stratum all at once, so that last traps end watches far behind their begins. */
function withBursts(): Group {
  const seldom = Array.from({ length: PER_STRATUM }, (_, i) => {
    const begin = 9.5 * i * MS;
    return watch([[begin + (1 + (i % 35)) * MS, "store"]], {
      watch_id: i,
      begin_ns: begin,
      end_ns: begin + DWELL_MS * MS,
      dwell_limit_ns: DWELL_MS * MS,
    });
  });
  const bursts = Array.from({ length: PER_STRATUM }, (_, i) => {
    const begin = (9.5 * i + OTHER_MS) * MS;
    const isCut = i % 20 === 10;
    const hits = Array.from(isCut ? { length: 8 } : [], (_, k) => begin + (20 + i / 10 + BURST.gap_ms * k) * MS);
    return watch(
      hits.map((time) => [time, "store"] as const),
      {
        watch_id: PER_STRATUM + i,
        stratum: "bursts",
        begin_ns: begin,
        end_ns: hits.at(-1) ?? begin + DWELL_MS * MS,
        ended_by: isCut ? "trap_limit" : "dwell",
        dwell_limit_ns: DWELL_MS * MS,
      },
    );
  });
  const [group] = groupsOf(input({ watches: [...seldom, ...bursts], regions: [region()] }));
  if (group === undefined) throw new Error("no group");
  return group;
}

describe("a stratum whose watches end in bursts behind their windows", () => {
  test("may have as many passes in a window as such a burst would have there", () => {
    // 5 of 100 watches of 40 ms meet the burst of a word: of each second it has as many as fit between them.
    const bursts = 5 / PER_STRATUM / ((DWELL_MS + BURST.writes * BURST.gap_ms) / 1000);
    const truth = 8000 * (1000 / DWELL_MS) + 8000 * bursts * BURST.writes;
    const written = rowsOf(withBursts()).get("write_bytes_per_s");
    expect(written?.hi ?? Number.POSITIVE_INFINITY).toBeGreaterThan(truth);
  });
});

describe("accesses per pass, where strata show no pass", () => {
  const hits = (times: number) => figuresOf(withIdle(times), [hitsPerPass])[0];

  test("are what the others show where those strata are small", () => {
    expect(hits(0.01)).toMatchObject({ status: "ok", value: 1 });
  });

  test("have room for as many accesses as a watch can count where those strata may have as many passes", () => {
    const row = hits(1);
    expect(row?.status).toBe("ok");
    expect(row?.hi ?? 0).toBeGreaterThan(3);
  });

  test("are refused where those strata may have most of the passes", () => {
    expect(hits(1000)).toMatchObject({ value: null, lo: null, hi: null, why: UNDRAWN });
  });
});
