/** Passes that have more accesses than the usual watch can count: those with a high trap limit tell alone, and have to be as many whatever goes on. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readBytesPerSecond, writeBytesPerSecond } from "../../../src/analyse/metrics/byte-rates.ts";
import { OP } from "../../../src/schema/operation.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import type { World } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { type Hit, MS, one, RUN_NS, SECOND, trace, words } from "./shapes.ts";

setDefaultTimeout(180_000);

const HITS = 12;
const HITS_APART_NS = 5000;
const TURN_NS = 4 * SECOND;
const [BUSY_NS, QUIET_NS] = [5 * MS, 400 * MS];

/** Each word is passed over every 5 ms for four seconds, and every 400 ms for the next four. */
function byTurns(random: Random): World {
  const phase = random() * 2 * TURN_NS;
  const pass = (time: number): Hit[] =>
    Array.from({ length: HITS }, (_, k) => [time + k * HITS_APART_NS, k === 0 ? OP.store : OP.load]);
  const word = () => {
    const hits: Hit[] = [];
    for (let time = BUSY_NS * random(); time < RUN_NS; ) {
      hits.push(...pass(time));
      const isBusy = (time + phase) % (2 * TURN_NS) < TURN_NS;
      time += (isBusy ? BUSY_NS : QUIET_NS) * (0.5 + random());
    }
    return trace(hits);
  };
  return one("unknown", words(word, 100));
}

test("passes of 12 accesses are as many as in truth where words are busy and quiet by turns", () => {
  const kind = { name: "passes of 12 accesses, busy and quiet by turns", make: byTurns };
  const rows = coverageOf(kind, { seeds: 20, first: 8301, families: [readBytesPerSecond, writeBytesPerSecond] });
  expect(rows.length).toBe(2);
  for (const { ok, held, bound, right, ratio } of rows) {
    expect([ok + bound, right]).toEqual([20, bound]);
    expect(held).toBeGreaterThanOrEqual(0.9 * ok);
    expect(ok).toBeGreaterThanOrEqual(10);
    expect(Math.abs((ratio ?? 0) - 1)).toBeLessThan(0.08);
  }
});
