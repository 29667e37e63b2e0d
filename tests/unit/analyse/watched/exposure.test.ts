import { expect, test } from "bun:test";
import { spansOf } from "../../../../src/analyse/input/span.ts";
import { exposureIn } from "../../../../src/analyse/watched/exposure.ts";
import { MS, watch } from "../sample-input.ts";

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
