import { expect, test } from "bun:test";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import { residentBytes } from "../../../../src/analyse/metrics/resident-bytes.ts";
import type { Residency } from "../../../../src/label/regions/residency.ts";
import { input, MS, region } from "../sample-input.ts";

/** Weights that are in memory half, then whole, and a cache that grows; looks at 100, 400 and 900 ms. */
const residency: Residency = {
  look_ns: [100 * MS, 400 * MS, 900 * MS],
  latest: Int32Array.of(1, 3),
  before: [-1, 0, -1, 2],
  first_look: [0, 1, 1, 2],
  last_look: [0, 2, 1, 2],
  bytes: [2048, 4096, 0, 1024],
};

function figuresOf(looks: Residency | undefined, steps: { begin_ms: number; end_ms: number }[] = []) {
  const made = input({
    regions: [
      region({ pid: 1, addr: 4096n, size_bytes: 4096, region_type: "weight" }),
      region({ pid: 1, addr: 65_536n, size_bytes: 8192, region_type: "kv_cache" }),
    ],
    steps: steps.map(({ begin_ms, end_ms }) => ({
      step: "decode" as const,
      begin_ns: begin_ms * MS,
      end_ns: end_ms * MS,
      n_tokens: 1,
    })),
    ...(looks === undefined ? {} : { residency: looks }),
  });
  return groupsOf(made)
    .filter(({ scope }) => scope === "class")
    .map((group) => ({ group, figure: residentBytes.figures(group, [])[0] }));
}

test("the look that found most of a class is its resident bytes, and what it maps is the end for times between looks", () => {
  const [weight, cache] = figuresOf(residency).map(({ figure }) => figure);
  expect(weight).toMatchObject({
    source: "residency",
    n: 3,
    census: true,
    estimate: { value: 4096, lo: 4096, hi: 4096 },
  });
  expect(cache).toMatchObject({
    source: "residency",
    n: 2,
    census: true,
    estimate: { value: 1024, lo: 1024, hi: 8192 },
  });
  expect([weight?.bound, cache?.bound, weight?.why]).toEqual([undefined, undefined, undefined]);
});

test("a span has its own looks, and one without a look says so and keeps the upper end", () => {
  const within = (begin_ms: number, end_ms: number) =>
    figuresOf(residency, [{ begin_ms, end_ms }])
      .filter(({ group }) => group.region_type === "weight" && group.span.phase === "generation")
      .map(({ figure }) => figure);
  for (const figure of within(50, 150)) expect(figure).toMatchObject({ n: 1, estimate: { value: 2048, hi: 4096 } });
  for (const figure of within(500, 600)) {
    expect(figure).toMatchObject({ bound: true, estimate: { value: null, lo: null, hi: 4096 } });
    expect(figure?.why).toBe("no look at its pages fell into that time");
  }
});

test("a run in which nobody looked says that its pages are not recorded", () => {
  for (const { figure } of figuresOf(undefined)) {
    expect(figure).toMatchObject({
      bound: true,
      source: "region_map",
      why: "which of its pages are resident is not recorded",
    });
  }
});
