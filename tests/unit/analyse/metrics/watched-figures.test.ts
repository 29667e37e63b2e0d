import { describe, expect, test } from "bun:test";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { meanTrapNs, trapDelay } from "../../../../src/analyse/watched/trap-delay.ts";
import { ledgerRow } from "../../../fixtures/ledger.ts";
import { input, MS, region, watch } from "../sample-input.ts";
import { one, readers, weights } from "../sample-weights.ts";

/** What one trap may add to a time, where the recording does not say how long one is. */
const ONE_TRAP_NS = trapDelay(1, meanTrapNs(null));

/** As the watches of weights have it. */
const TRAP_LIMIT = 8;

describe("weights that are only read", () => {
  const rows = weights();

  test("are read once per byte and token, one token apart", () => {
    const perToken = one(rows, "reads_per_byte_per_token", "decode");
    expect(perToken.status).toBe("ok");
    expect(perToken.value ?? 0).toBeGreaterThan(0.95);
    expect(perToken.value ?? 0).toBeLessThan(1.05);
    expect(one(rows, "iai_p50_ns", "decode").value).toBe(5 * MS);
    expect(one(rows, "hits_per_pass", "decode").value).toBe(1);
  });

  test("leave room for passes unlike those that were seen, though all were alike", () => {
    const { lo, hi, n } = one(rows, "hits_per_pass", "decode");
    expect(lo).toBe(1);
    // The rule of three, at 97.5 %: none of n, or of the few less that count alike, where a pass may have as many accesses as the trap limit.
    const room = (TRAP_LIMIT - 1) * (1 - 0.025 ** (1 / n));
    expect((hi ?? 0) - 1).toBeWithin(room, 1.05 * room);
  });

  test("have no retention, age, write-once ratio or reads per write, and say why", () => {
    for (const metric of ["retention_p50_ns", "age_at_read_p50_ns", "write_once_ratio", "reads_per_write"]) {
      const row = one(rows, metric);
      expect([metric, row.status, row.value]).toEqual([metric, "not_identifiable", null]);
      expect(row.why).toContain("no write in the run");
    }
  });

  test("have an upper bound of writes, never 0", () => {
    const row = one(rows, "writes_per_byte_per_token", "decode");
    expect(row.status).toBe("bound");
    expect(row.value).toBeNull();
    expect(row.hi ?? 0).toBeGreaterThan(0);
  });

  test("live at least as long as was seen", () => {
    const row = one(rows, "lifetime_p50_ns", "all", "region_map");
    expect([row.status, row.value, row.lo]).toEqual(["bound", null, 1000 * MS]);
    expect(one(rows, "allocated_bytes", "all", "region_map").value).toBe(8000);
  });

  test("a p99 of 60 addresses has no upper end", () => {
    const row = one(rows, "iai_p99_ns", "decode");
    expect([row.status, row.value, row.hi]).toEqual(["bound", null, null]);
    expect(row.why).toContain("299");
  });
});

describe("lives of regions of which some are alive at the end", () => {
  const dead = region({ region_type: "runtime", size_bytes: 4000, death_ns: 100 * MS, death_censored: false });
  const old = region({ region_type: "runtime", size_bytes: 4000, death_ns: 300 * MS, death_censored: false });
  const alive = region({ region_type: "runtime", size_bytes: 2000, birth_ns: 800 * MS, death_censored: true });
  const rows = computeMetrics(input({ regions: [dead, old, alive] }));
  const of = (metric: string) => rows.find((row) => row.metric === metric && row.source === "region_map");

  test("have their median between what it is if those die at once and if they never do", () => {
    expect(of("lifetime_p50_ns")).toMatchObject({ status: "ok", lo: 200 * MS, hi: 300 * MS });
  });

  test("have only a lower bound of what so many may outlive", () => {
    expect(of("lifetime_p90_ns")).toMatchObject({ status: "bound", value: null, lo: 300 * MS, hi: null });
  });
});

describe("bytes that come into being while the class is watched", () => {
  const young = region({ size_bytes: 8000, birth_ns: 500 * MS, death_censored: true });
  const silent = Array.from({ length: 60 }, (_, i) =>
    watch([], { watch_id: i, addr: BigInt(4096 + 8 * i), begin_ns: 15 * MS * i, end_ns: 15 * MS * i + 100 * MS }),
  );
  const hi = (given: Parameters<typeof input>[0]): number =>
    computeMetrics(input({ ...given, watches: silent })).find(
      (row) => row.metric === "write_bytes_per_s" && row.source === "watch",
    )?.hi ?? Number.NaN;

  test("may each have been written once before a watch could be drawn from them", () => {
    expect(hi({ regions: [region(), young] }) - hi({ regions: [region()] })).toBeCloseTo(8000, 6);
  });

  /** Each word is read every 10 ms, and written at every fifth read. */
  const busy = Array.from({ length: 120 }, (_, i) => {
    const begin_ns = 7.5 * MS * i;
    const hits = Array.from(
      { length: 10 },
      (_, k) => [begin_ns + (((3 * i) % 10) + 10 * k) * MS, k % 5 === 0 ? "load_store" : "load"] as const,
    );
    return watch(hits, { addr: BigInt(4096 + 8 * i), begin_ns, end_ns: begin_ns + 100 * MS, trap_limit: 32 });
  });
  /** Regions of 8000 bytes that follow each other, each for `life_ms`. */
  const lives = (life_ms: number) =>
    Array.from({ length: Math.floor(1000 / life_ms) }, (_, i) =>
      region({ birth_ns: i * life_ms * MS, death_ns: (i + 1) * life_ms * MS }),
    );
  const figure = (metric: string, life_ms: number, draw_lag_ns: number) =>
    one(computeMetrics(input({ regions: lives(life_ms), watches: busy, draw_lag_ns })), metric);

  test("are read in no sum while they are too young to be drawn: a share of them widens the interval", () => {
    const [all, most] = [figure("read_bytes_per_s", 100, 0), figure("read_bytes_per_s", 100, MS)];
    expect([all.status, most.status]).toEqual(["ok", "ok"]);
    expect((most.hi ?? 0) / (all.hi ?? 1)).toBeCloseTo(1.02, 3);
    expect((most.lo ?? 0) / (all.lo ?? 1)).toBeCloseTo(0.99, 3);
  });

  test("that live so shortly that more than 2 % of their time is over by then leave a lower bound", () => {
    const row = figure("read_bytes_per_s", 100, 10 * MS);
    expect([row.status, row.value, row.hi]).toEqual(["bound", null, null]);
    expect(row.why).toContain("10 % of its time is over before it can be drawn");
    for (const metric of ["reads_per_write", "hits_per_pass", "iai_p50_ns", "age_at_read_p50_ns", "retention_p50_ns"]) {
      expect(figure(metric, 100, 3 * MS)).toMatchObject({
        status: "insufficient",
        value: null,
        why: expect.stringContaining("3 % of its time"),
      });
    }
  });

  test("leave room for writes that are read once more, or once less, than those that were seen, though all were alike", () => {
    const alike = busy.map(({ addr, begin_ns, end_ns, trap_limit }, i) => {
      const times = Array.from({ length: 10 }, (_, k) => begin_ns + (((3 * i) % 10) + 10 * k) * MS);
      const both = times.map((time) => [time, "load_store"] as const);
      return watch(both, { addr, begin_ns, end_ns, trap_limit });
    });
    const { value, lo, hi, n } = one(
      computeMetrics(input({ regions: lives(1000), watches: alike })),
      "reads_per_write",
    );
    expect(value).toBeCloseTo(1, 9);
    // The rule of three, at 97.5 %: none of n.
    const share = 1 - 0.025 ** (1 / n);
    expect(lo ?? 9).toBeCloseTo(1 - share, 2);
    expect(hi ?? 0).toBeCloseTo(1 + share, 2);
  });

  test("have a first write that no watch sees: reads per write may be lower by its share, and above 5 % that is no value", () => {
    expect(figure("reads_per_write", 1000, 0)).toMatchObject({ status: "ok", why: null });
    const { status, value, lo, hi, why } = figure("reads_per_write", 50, 0);
    expect([status, value]).toEqual(["bound", null]);
    // 20 writes of each byte in a second are seen, and nearly 20 are not.
    expect(lo ?? 9).toBeWithin(2, 2.7);
    expect(hi ?? 0).toBeGreaterThanOrEqual(5);
    expect(why).toContain("which no watch can see");
    expect(figure("retention_p50_ns", 50, 0)).toMatchObject({ status: "insufficient", value: null });
  });

  test("are kept from their first write for any time, so that there is a median as long as most writes are others", () => {
    // 4 lives of 8000 bytes begin, beside nearly 20 writes of each: a sixth of the writes.
    const median = figure("retention_p50_ns", 200, 0);
    expect(median).toMatchObject({ status: "ok", value: 50 * MS, hi: 50 * MS });
    expect(median.lo ?? 0).toBeWithin(49 * MS, 50 * MS);
  });

  test("have first writes that are in no sum: above 5 % of the writes these leave bounds that hold both", () => {
    const [alone, together] = [figure("write_bytes_per_s", 1000, 0), figure("write_bytes_per_s", 50, 0)];
    expect(alone).toMatchObject({ status: "ok", why: null });
    expect([together.status, together.value]).toEqual(["bound", null]);
    // What is seen is the same, nearly 20 writes of each of 8000 bytes; 19 lives of them begin.
    expect(together.lo).toBe(alone.lo as number);
    expect((together.hi ?? 0) - (alone.hi ?? 0)).toBeCloseTo(19 * 8000, 0);
    expect(together.why).toContain("50 % of the writes are the first ones");
  });

  test("and come within the window of a working set are at most in it", () => {
    const row = figure("working_set_bytes", 50, 0);
    // Two regions of 8000 bytes come within the 100 ms, beside the one that was there.
    expect([row.status, row.value]).toEqual(["bound", null]);
    expect(row.hi ?? 0).toBeGreaterThanOrEqual(3 * 8000 * 0.95);
  });
});

describe("what is held back", () => {
  test("fewer than 30 addresses are insufficient", () => {
    const row = one(weights({ watches: readers(20) }), "iai_p50_ns", "decode");
    expect([row.status, row.value, row.lo, row.hi]).toEqual(["insufficient", null, null, null]);
    expect(row.why).toContain("30");
  });

  test("a class without a watch says so instead of 0", () => {
    const row = one(weights({ watches: [] }), "read_bytes_per_s");
    expect([row.status, row.value, row.n]).toEqual(["insufficient", null, 0]);
  });

  test("loss above 1 % takes the value away and is printed", () => {
    const ledger = [
      ledgerRow({ stream: "access", source: "watch", stage: "decode" }, 100, 3),
      ledgerRow({ stream: "access", source: "clock", stage: "decode" }, 900, 0),
    ];
    const row = one(weights({ ledger }), "iai_p50_ns", "decode");
    expect([row.status, row.value, row.lost_pct]).toEqual(["insufficient", null, 3]);
  });

  test("intervals longer than the watch are bounds from below", () => {
    const watches = Array.from({ length: 100 }, () => watch([[40 * MS, "load"]]));
    const row = one(computeMetrics(input({ watches, window_ns: 100 * MS })), "iai_p50_ns");
    expect([row.status, row.value, row.lo, row.hi]).toEqual(["bound", null, 60 * MS - ONE_TRAP_NS, null]);
  });

  test("where watches saw passes and none of these counts, that is said, and not that there was no access", () => {
    const filled = (i: number) => {
      const hits = Array.from({ length: 8 }, (_, k) => [30 * MS + 5000 * k, "load"] as const);
      return watch(i % 2 === 0 ? hits : [], {
        watch_id: i + 1,
        end_ns: (i % 2 === 0 ? 30.035 : 100) * MS,
        ended_by: i % 2 === 0 ? "trap_limit" : "dwell",
      });
    };
    const row = one(computeMetrics(input({ watches: Array.from({ length: 100 }, (_, i) => filled(i)) })), "iai_p50_ns");
    expect([row.status, row.why]).toEqual([
      "insufficient",
      "50 of 100 watched addresses show one, outside the time in which passes are counted",
    ]);
  });

  test("a lower end of nothing without an upper one is no bound", () => {
    const watches = Array.from({ length: 40 }, () =>
      watch([
        [40 * MS, "load"],
        [60 * MS, "unknown"],
      ]),
    );
    const row = one(computeMetrics(input({ watches })), "read_bytes_per_s");
    expect([row.status, row.lo, row.hi]).toEqual(["insufficient", null, null]);
    expect(row.why).not.toBeNull();
  });

  test("passes that may have read or written give bounds", () => {
    const watches = Array.from({ length: 100 }, () =>
      watch([
        [40 * MS, "load"],
        [60 * MS, "unknown"],
      ]),
    );
    const row = one(computeMetrics(input({ watches })), "read_bytes_per_s");
    expect([row.status, row.value]).toEqual(["bound", null]);
    expect(row.hi ?? 0).toBeGreaterThanOrEqual(2 * (row.lo ?? Number.NaN));
  });
});

test("where a burst ends every watch of some words at once, the rate is a lower bound: nothing is filled in", () => {
  const watches = Array.from({ length: 80 }, (_, i) => {
    const begin_ns = (10 * i + ((7 * i) % 10)) * MS;
    const end_ns = begin_ns + 100 * MS;
    if (i % 4 !== 0) {
      const slow = Array.from({ length: 8 }, (_, k) => [begin_ns + ((3 * i) % 10) * MS + 10 * k * MS, "load"] as const);
      return watch(slow, { begin_ns, end_ns: slow[7]?.[0] ?? end_ns, ended_by: "trap_limit" });
    }
    const first = begin_ns + (1 + (i % 16)) * MS;
    const burst = Array.from({ length: 8 }, (_, k) => [first + 100_000 * k, "load"] as const);
    return watch(burst, { begin_ns, end_ns: first + 700_000, ended_by: "trap_limit" });
  });
  const row = one(computeMetrics(input({ watches, window_ns: 1000 * MS })), "read_bytes_per_s");
  expect([row.status, row.value, row.hi]).toEqual(["bound", null, null]);
});

describe("words of which two in five are rewritten all the time, and the others are written once in a long run", () => {
  const RUN_NS = 100_000 * MS;
  /** Each watch sees a tenth of a second: of the words that are rewritten two writes, of the others mostly none. */
  const watches = Array.from({ length: 3000 }, (_, i) => {
    const begin_ns = (i * RUN_NS) / 9000;
    const again = [begin_ns + 10 * MS, begin_ns + 60 * MS].map((time) => [time, "store"] as const);
    return watch(i % 5 < 2 ? again : [], { watch_id: i, begin_ns, end_ns: begin_ns + 100 * MS });
  });

  test("are not all rewritten because those are that are written while they are watched from the begin on", () => {
    const row = computeMetrics(input({ window_ns: RUN_NS, watches })).find(
      ({ metric, grain_bytes }) => metric === "write_once_ratio" && grain_bytes === 8,
    );
    expect([row?.status, row?.lo]).toEqual(["bound", 0]);
    expect(row?.hi ?? 0).toBeWithin(0.6, 0.64);
  });
});

describe("words that are watched from the begin of a run to its end", () => {
  const RUN_NS = 10_000 * MS;
  const stores = (count: number, gap_ns: number): [number, "store"][] =>
    Array.from({ length: count }, (_, k) => [1000 * MS + k * gap_ns, "store"]);
  const given = { begin_ns: 0, dwell_limit_ns: RUN_NS };
  const once = (i: number) => watch(stores(1, MS), { ...given, watch_id: i, end_ns: RUN_NS });
  const cut = (i: number, gap_ns: number) => {
    const hits = stores(8, gap_ns);
    return watch(hits, { ...given, watch_id: i, end_ns: hits.at(-1)?.[0] ?? 0, ended_by: "trap_limit" });
  };
  const figureOf = (watches: ReturnType<typeof watch>[], regions: ReturnType<typeof region>[] = []) =>
    computeMetrics(input({ window_ns: RUN_NS, watches, regions })).find(
      ({ metric, grain_bytes }) => metric === "write_once_ratio" && grain_bytes === 8,
    );

  test("count as written again where their last trap came before the end", () => {
    const row = figureOf(Array.from({ length: 80 }, (_, i) => (i % 2 === 0 ? once(i) : cut(i, 50 * MS))));
    expect(row?.status).toBe("ok");
    expect(row?.value).toBeCloseTo(0.5, 9);
  });

  test("leave open what comes behind a last trap that was of the first write", () => {
    const row = figureOf(Array.from({ length: 80 }, (_, i) => (i % 2 === 0 ? once(i) : cut(i, 1000))));
    expect([row?.status, row?.value]).toEqual(["bound", null]);
  });

  test("do not tell of memory that came later, of which none is watched from the begin", () => {
    const list = Array.from({ length: 80 }, (_, i) => once(i));
    const early = region({ addr: 4096n, death_ns: RUN_NS });
    const later = region({ addr: 65536n, birth_ns: 5000 * MS, death_ns: RUN_NS });
    expect(figureOf(list, [early])?.status).toBe("ok");
    const row = figureOf(list, [early, later]);
    expect([row?.status, row?.value]).toEqual(["bound", null]);
  });

  test("are not those that were drawn ahead of a first write, of which the slow ones are more", () => {
    const ahead = Array.from({ length: 80 }, (_, i) => ({ ...once(i), design: "ahead" as const }));
    expect(figureOf(ahead)?.status).not.toBe("ok");
  });
});
