/** What the analysis holds of watches: of one class in one span at a time, and of each watch a few numbers. */
import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { eachGroup } from "../../../src/analyse/input/group.ts";
import type { WatchSample } from "../../../src/analyse/input/input.ts";
import { BYTES_OF } from "../../../src/label/label-room.ts";
import { OP } from "../../../src/schema/operation.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { input, MS, watch } from "../../unit/analyse/sample-input.ts";

const COUNT = 4000;
const HITS = 8;
const STEP_NS = 5 * MS;
const RUN_NS = COUNT * STEP_NS;

function liveBytes(): number {
  Bun.gc(true);
  Bun.gc(true);
  const { heapSize, extraMemorySize } = heapStats();
  return heapSize + extraMemorySize;
}

function watches(): WatchSample[] {
  const random = seededRandom(3);
  return Array.from({ length: COUNT }, (_, i) => {
    const begin_ns = random() * (RUN_NS - 100 * MS);
    const hit_ns = Float64Array.from({ length: HITS }, () => begin_ns + random() * 60 * MS).sort();
    const hit_op = Uint8Array.from(hit_ns, () => (random() < 0.6 ? OP.load : OP.store));
    const ends = { end_ns: hit_ns[HITS - 1] ?? begin_ns, ended_by: "trap_limit", dwell_limit_ns: 60 * MS } as const;
    return watch([], { watch_id: i + 1, begin_ns, hit_ns, hit_op, ...ends });
  });
}

test("a class holds less than two kilobytes for each of its watches, whatever other spans there are", () => {
  const steps = Array.from({ length: COUNT }, (_, i) => {
    const begin_ns = i * STEP_NS;
    const step = i % 50 === 0 ? ("prefill" as const) : ("decode" as const);
    return { step, begin_ns, end_ns: begin_ns + 0.9 * STEP_NS, n_tokens: 1 };
  });
  const given = input({ window_ns: RUN_NS, watches: watches(), steps, trap_cost_ns: 9000 });
  const before = liveBytes();
  const held: number[] = [];
  for (const group of eachGroup(given)) {
    if (group.every.exposures.length > COUNT / 2) held.push((liveBytes() - before) / COUNT);
  }
  const most = Math.max(...held);
  process.stderr.write(`bytes of each watch that a class holds: ${most.toFixed(0)}\n`);
  expect(held.length).toBeGreaterThan(1);
  expect(most).toBeLessThan(2000);
  // What metrics make of them, and leave behind until it is collected, is several times as much.
  expect(BYTES_OF.watches).toBeGreaterThan(4 * most);
});
