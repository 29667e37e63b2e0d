import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { fuzzCase, fuzzTargets } from "../fixtures/fuzz-targets.ts";

let targets: Awaited<ReturnType<typeof fuzzTargets>>;
beforeAll(async () => {
  targets = await fuzzTargets();
});
afterAll(() => targets[Symbol.dispose]());

/** Together with the tests of each reader a minute; `bun run fuzz` goes on from there. */
const TIME_MS = 44_000;
const MOST_BYTES = 1.5e9;

test(
  "whatever happens to bytes that others wrote, every reader ends in rows or in one clear answer",
  async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0 }), async (seed) => {
        const { name, wrong } = await fuzzCase(targets.list, seed);
        seen.add(name);
        expect(wrong).toBeNull();
      }),
      { numRuns: 1e6, interruptAfterTimeLimit: TIME_MS, markInterruptAsFailure: false, endOnFailure: true },
    );
    expect(seen).toEqual(new Set(targets.list.map(({ name }) => name)));
    expect(process.memoryUsage.rss()).toBeLessThan(MOST_BYTES);
  },
  4 * TIME_MS,
);
