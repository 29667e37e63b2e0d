/** Memory of a described work that fills. */
import { describe, expect, test } from "bun:test";
import { readWorldFile } from "../../../src/config/world-file.ts";
import { worldSchema } from "../../../src/config/world-schema.ts";
import { OP } from "../../../src/schema/operation.ts";
import { describedWorld } from "../../../src/simulate/described-world.ts";
import { simulate } from "../../../src/simulate/simulate.ts";
import type { WorldStratum } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";

function strataOf(stratum: object, run = "20s"): readonly WorldStratum[] {
  const strata = [{ class: "kv_cache", bytes: "1MiB", period: "50ms", ...stratum }];
  return describedWorld(worldSchema.parse({ run, strata })).make(seededRandom(3)).strata;
}

const MS = 1e6;
const storesOf = ({ words }: WorldStratum) =>
  words.map(({ time_ns, op }) => Array.from(time_ns).filter((_, i) => op[i] === OP.store));

describe("memory that fills", () => {
  const [cache] = strataOf({ fills: "4s" }) as [WorldStratum];

  test("has words that come into use one after the other, each with a write that nothing but reads follows", () => {
    // What comes into use last may be emptied before its next period.
    const used = cache.words.filter(({ time_ns }) => time_ns.length >= 20);
    expect(used.length).toBeGreaterThan(0.9 * cache.words.length);
    for (const { time_ns, op } of used) {
      const stores = time_ns.filter((_, i) => op[i] === OP.store);
      // 20 s are five times 4 s: the memory was filled so often, and what was in use at first was written before.
      expect(stores.length).toBeWithin(4, 6);
      for (const store of stores) {
        const before = time_ns.findLast((time) => time < store);
        if (before !== undefined) expect(store - before).toBeGreaterThan(50 * MS - 1);
      }
    }
  });

  test("holds as much more as time goes by, and is empty at once", () => {
    const inUse = (from_ms: number): number =>
      cache.words.filter(({ time_ns }) => time_ns.some((time) => time >= from_ms * MS && time < (from_ms + 50) * MS))
        .length;
    const shares = Array.from({ length: 390 }, (_, k) => inUse(k * 50) / cache.words.length);
    const falls = shares.flatMap((share, k) => ((shares[k - 1] ?? 0) - share > 0.5 ? [k * 50] : []));
    expect(falls.length).toBeWithin(4, 6);
    for (const [k, fall] of falls.entries()) if (k > 0) expect(fall - (falls[k - 1] ?? 0)).toBeWithin(3900, 4101);
    const firstFall = falls[0] ?? 0;
    for (const part of [0.25, 0.5, 0.75]) {
      expect(shares[Math.round((firstFall + part * 4000) / 50)]).toBeWithin(part - 0.08, part + 0.08);
    }
  });

  test("is filled once in a block, from its birth on, and stays full", () => {
    const blocks = strataOf({ fills: "500ms", blocks: { every: "2s", life: "1500ms" } });
    expect(blocks.length).toBeGreaterThan(8);
    for (const block of blocks) {
      const [born, freed] = block.life_ns ?? [0, 0];
      if (born < 0 || freed > 20e9) continue;
      for (const stores of storesOf(block)) {
        expect(stores).toHaveLength(1);
        expect((stores[0] ?? 0) - born).toBeWithin(0, 600 * MS);
      }
      for (const { time_ns } of block.words) expect(freed - (time_ns.at(-1) ?? 0)).toBeLessThan(100 * MS);
    }
  });

  test("is used by chance too: the first access in time writes", () => {
    for (const stratum of strataOf({ fills: "4s", random: ["moments"], touches: 3, spacing: "20ms" })) {
      const stores = storesOf(stratum).map(({ length }) => length);
      expect(Math.max(...stores)).toBeLessThanOrEqual(5);
      expect(stores.filter((count) => count >= 4).length).toBeGreaterThan(0.9 * stores.length);
    }
  });
});

const EXAMPLE = new URL("../../../config/world-cache.yaml", import.meta.url).pathname;

describe("the example of caches that fill", () => {
  const { described } = readWorldFile(EXAMPLE);
  const { figures } = simulate({ ...described, run: 20e9 }, { seeds: 3 });

  test("is true to its description", () => {
    const truthOf = (metric: string) =>
      figures.find((figure) => figure.region_type === "kv_cache" && figure.metric === metric)?.truth?.lo ?? 0;
    // Half of the conversation is in use in the mean. 2.5 requests are there, in use for half of 1.5 s and for 0.5 s of 2 s.
    const conversation = (16 * 2 ** 20) / 2;
    const requests = (2 / 0.8) * 4 * 2 ** 20 * ((1.5 / 2 + 0.5) / 2);
    expect(truthOf("read_bytes_per_s") / ((conversation + requests) / 0.025)).toBeWithin(0.85, 1.1);
    // The conversation is written once in 10 s, and a request in each 0.8 s.
    const written = (16 * 2 ** 20) / 10 + (4 * 2 ** 20) / 0.8;
    expect(truthOf("write_bytes_per_s") / written).toBeWithin(0.85, 1.1);
  });

  test("tells figures that hold the truth", () => {
    const sum = (key: "ok" | "held" | "bound" | "right") => figures.reduce((all, figure) => all + figure[key], 0);
    expect([sum("ok"), sum("bound")].map((count) => count > 30)).toEqual([true, true]);
    expect(sum("held") / sum("ok")).toBeGreaterThanOrEqual(0.95);
    expect(sum("right") / sum("bound")).toBeGreaterThanOrEqual(0.97);
  });
});
