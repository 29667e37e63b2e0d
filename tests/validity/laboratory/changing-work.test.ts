/** A program without an engine that does more at first than later, or the other way round: long watches are shorter at first, and more of them follow each other. The seeds are fixed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import type { World, WorldKind } from "../../../src/simulate/world.ts";
import { loads, MS, one, SECOND, timesFrom, words } from "./shapes.ts";

setDefaultTimeout(120_000);

const SEEDS = 20;
const LONG_NS = 100 * SECOND;

/** Words that are used every so many ms up to a part of the run, and then every so many others. */
const used = (part: number, before: number, after: number): WorldKind => ({
  name: `words used every ${before} ms for ${100 * part} s, then every ${after} ms`,
  make: (random): World => {
    const change = part * LONG_NS;
    const list = words(() => {
      const first = timesFrom(random() * before * MS, change, () => before * MS);
      const later = timesFrom(change + random() * after * MS, LONG_NS, () => after * MS);
      return loads([...first, ...later], LONG_NS);
    }, 100);
    return one("runtime", list, { run_ns: LONG_NS });
  },
});

for (const [part, before, after] of [
  [0.3, 100, 1200],
  [0.7, 1200, 100],
] as const) {
  test(`bytes read are right where words are used every ${before} ms and then every ${after}`, () => {
    const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "read_bytes_per_s"));
    const rows = coverageOf(used(part, before, after), { seeds: SEEDS, most: SEEDS, families });
    const { ok, held, ratio } = rows.find(({ metric }) => metric === "read_bytes_per_s") ?? {};
    expect(ok).toBe(SEEDS);
    expect(held ?? 0).toBeGreaterThanOrEqual(SEEDS - 2);
    expect(ratio).toBeWithin(0.97, 1.03);
  });
}
