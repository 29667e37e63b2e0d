import { describe, expect, test } from "bun:test";
import { eachGroup, type Group, groupsOf } from "../../../../src/analyse/input/group.ts";
import { spanOf, spansOf } from "../../../../src/analyse/input/span.ts";
import { setWithin } from "../../../../src/analyse/input/watch-set.ts";
import { readBytesPerSecond } from "../../../../src/analyse/metrics/byte-rates.ts";
import { figuresOf } from "../../../../src/analyse/metrics/registry.ts";
import { type Exposure, exposureIn } from "../../../../src/analyse/watched/exposure.ts";
import { seededDraws } from "../../../../src/statistics/prng.ts";
import { input, MS, watch } from "../sample-input.ts";

const [span] = spansOf([], 1000 * MS);
const loads = [10, 30, 50, 70].map((ms) => [ms * MS, "load"] as const);
const exposed = (over: Parameters<typeof watch>[1]) => span && exposureIn(watch(loads, over), span, 50_000);

test("what comes after a free at the same addresses is done to other memory, whenever the tracer heard of it", () => {
  // The traps of the next memory ended the watch, or its time went by, before the free was read.
  for (const ended_by of ["trap_limit", "dwell"] as const) {
    const one = exposed({ ended_by, trap_limit: 4, end_ns: 70 * MS, region_death_ns: 40 * MS });
    expect(one).toMatchObject({ end_ns: 40 * MS, window_end_ns: 40 * MS, freed_ns: 40 * MS, byTrap: false });
    expect(one?.passes.count).toBe(2);
  }
});

test("a last trap before the free ended the watch, and its time goes on to the free", () => {
  const one = exposed({ ended_by: "trap_limit", trap_limit: 4, end_ns: 70 * MS, region_death_ns: 90 * MS });
  expect(one).toMatchObject({ end_ns: 70 * MS, window_end_ns: 90 * MS, freed_ns: 90 * MS, byTrap: true });
  expect(one?.passes.count).toBe(4);
});

test("bytes that a call moved to another address were not freed, and what is done to them there is not seen", () => {
  for (const ended_by of ["unmap", "dwell"] as const) {
    const one = exposed({ ended_by, end_ns: 40 * MS, region_death_ns: 40 * MS, is_moved: true });
    expect(one).toMatchObject({ end_ns: 40 * MS, window_end_ns: 40 * MS, freed_ns: Number.NaN, byTrap: false });
  }
  // The program gave the page back before.
  const emptied = exposed({ ended_by: "unmap", end_ns: 30 * MS, region_death_ns: 40 * MS, is_moved: true });
  expect(emptied).toMatchObject({ end_ns: 30 * MS, freed_ns: 30 * MS });
});

test("traps of other processes end a watch as its own do, and the time that it was given goes on", () => {
  const one = exposed({ ended_by: "foreign", end_ns: 30 * MS });
  expect(one).toMatchObject({ end_ns: 30 * MS, window_end_ns: 100 * MS, byTrap: true });
  expect(one?.passes.count).toBe(2);
});

/** Every other word is used each 4 ms, in a child at the same address too, so that its traps end the watch after 2 ms; the others each 40 ms. */
function sharedByFork() {
  const random = seededDraws(5);
  const watches = Array.from({ length: 400 }, (_, i) => {
    const begin_ns = (i + random()) * 2.5 * MS;
    const [every, lasts] = i % 2 === 0 ? [4 * MS, 2 * MS] : [40 * MS, 100 * MS];
    const hits: [number, "load"][] = [];
    for (let t = begin_ns + every * random(); t < begin_ns + lasts; t += every) hits.push([t, "load"]);
    const end_ns = begin_ns + lasts;
    return watch(hits, { watch_id: i + 1, begin_ns, end_ns, ended_by: i % 2 === 0 ? "foreign" : "dwell" });
  });
  // 8000 bytes, 250 and 25 passes a second over each half of them.
  return { watches, truth: 8000 * 137.5 };
}

test("busy words of a process that forked count as often as they were drawn, though traps of its children end their watches", () => {
  const { watches, truth } = sharedByFork();
  const [group] = groupsOf(input({ watches }));
  const [row] = group === undefined ? [] : figuresOf(group, [readBytesPerSecond]);
  expect(row?.status).toBe("ok");
  expect(row?.lo ?? 0).toBeLessThanOrEqual(truth);
  expect(row?.hi ?? 0).toBeGreaterThanOrEqual(truth);
});

describe("what watches have alike is held once", () => {
  const hits = [10, 30, 50, 70].map((ms) => [ms * MS, "store"] as const);
  const watches = (["rw", "w"] as const).map((mode, i) => watch(hits, { watch_id: i, mode, end_ns: 100 * MS }));
  const [group] = groupsOf(input({ watches }));

  test("the sets of a class have the same exposures of the same watches", () => {
    const [readable] = group?.uniform.exposures ?? [];
    expect(readable?.watch.mode).toBe("rw");
    expect(group?.stores.exposures).toHaveLength(2);
    expect(group?.stores.exposures.includes(readable as Exposure)).toBeTrue();
  });

  test("hits that are a pass each are the begins of their passes, all of which lie inside the span", () => {
    const [one, other] = group?.stores.exposures ?? [];
    expect(one?.passes.start_ns).toBe(one?.watch.hit_ns as Float64Array);
    expect(one?.inside_ns).toBe(one?.passes.start_ns as Float64Array);
    expect(one?.inside).toEqual(Uint32Array.of(0, 1, 2, 3));
    for (const key of ["hits", "reads", "unknown"] as const) expect(one?.passes[key]).toBe(other?.passes[key] as never);
    expect(one?.passes.writes).toEqual(Uint32Array.of(1, 1, 1, 1));
  });

  test("a part of a span has the passes of the whole, but where it cuts off some of the hits", () => {
    if (group === undefined) throw new Error("no group");
    const passesIn = (end_ns: number) =>
      setWithin(group.stores, spanOf("all", "all", [[0, end_ns]]), 1, 1).exposures.map(({ passes }) => passes);
    expect(passesIn(80 * MS)).toEqual(group.stores.exposures.map(({ passes }) => passes));
    expect(passesIn(80 * MS)[0]).toBe(group.stores.exposures[0]?.passes as never);
    expect(passesIn(60 * MS).map(({ count }) => count)).toEqual([3, 3]);
  });
});

test("groups are made that are wanted, with the figures that they have among all", () => {
  const steps = [40, 60].map((ms, i) => {
    const step = i === 0 ? ("prefill" as const) : ("decode" as const);
    return { step, begin_ns: ms * MS, end_ns: (ms + 19) * MS, n_tokens: 1 };
  });
  const classes = (["weight", "activation"] as const).map((region_type) => watch(loads, { region_type }));
  const given = input({ watches: classes, steps });
  const isWanted = ({ region_type, span }: Pick<Group, "region_type" | "span">): boolean =>
    region_type === "activation" && span.step === "decode";
  const [one, ...others] = eachGroup(given, isWanted);
  expect(others).toEqual([]);
  const same = groupsOf(given).find(isWanted);
  if (one === undefined || same === undefined) throw new Error("no group");
  expect(figuresOf(one)).toEqual(figuresOf(same));
});
