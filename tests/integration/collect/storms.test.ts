/** A hundred storms on the tree and its maps, each decided by its seed: what is rebuilt is what the kernel has. */
import { describe, expect, test } from "bun:test";
import { balances } from "../../../src/schema/ledger.ts";
import { runStorms, type StormEnd, stormFiles } from "../../fixtures/storms.ts";

const BATCHES = 4;
const PER_BATCH = 25;
const STORM_MS = 200;

/** The storm again: `bun test tests/integration/collect/storms.test.ts` with its seed in MRM_STORM_SEED. */
const only = process.env.MRM_STORM_SEED;

const failed = ({ differences, ended, status }: StormEnd) => differences.length > 0 || !ended || status !== 0;

async function expectStorms(first: number, count: number) {
  const { ends, ledger, treeEnded, exitCode, warnings } = await runStorms(stormFiles(), {
    first,
    count,
    storm_ms: STORM_MS,
  });
  expect(ends.filter(failed), "the seeds that failed").toEqual([]);
  expect(ends.map(({ seed }) => seed)).toEqual(Array.from({ length: count }, (_, i) => first + i));
  expect({ treeEnded, exitCode }).toEqual({ treeEnded: true, exitCode: 0 });
  expect(ledger.filter((row) => !balances(row))).toEqual([]);
  for (const { calls, processes } of ends) {
    expect(calls).toBeGreaterThan(50);
    expect(processes).toBeGreaterThan(0);
  }
  const lost = ends.reduce((sum, end) => sum + end.lost, 0);
  expect(warnings.some((warning) => warning.includes("were lost"))).toBe(lost > 0);
  return ends;
}

describe("storms that end, whose ledger balances, and whose maps are those of the kernel", () => {
  if (only !== undefined) {
    test(`with seed ${only}`, () => expectStorms(Number(only), 1).then(() => {}));
    return;
  }
  for (let batch = 0; batch < BATCHES; batch++) {
    const first = 1 + batch * PER_BATCH;
    test(`with seeds ${first} to ${first + PER_BATCH - 1}`, async () => {
      const ends = await expectStorms(first, PER_BATCH);
      // Both kinds are among them: some that are recorded whole, some that are not or have children.
      expect(ends.some(({ lost }) => lost === 0)).toBe(true);
      expect(ends.some(({ processes }) => processes > 1)).toBe(true);
    });
  }
});
