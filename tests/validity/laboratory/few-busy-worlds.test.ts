/** Runs so short that many draw none of the few words with most of the accesses. The seeds are fixed, so that the outcome is too. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readsPerWrite } from "../../../src/analyse/metrics/reads-per-write.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { FEW_BUSY_WORLDS, WRITTEN_BY_RANK } from "./few-busy-worlds.ts";

setDefaultTimeout(180_000);
const SEEDS = 240;
/** Of fewer values a share tells nothing. */
const FEW = 10;

test("what is told of a few busy words by fewer than 80 watches is true: a value where some were drawn, and else bounds or nothing", () => {
  const kind = FEW_BUSY_WORLDS.find(({ name }) => name.includes("a run of 3 s"));
  if (kind === undefined) throw new Error("there is no such world");
  const rows = coverageOf(kind, { seeds: SEEDS, first: 400001 }).filter(({ metric }) => metric !== "working_set_bytes");
  const sums = rows.filter(({ metric }) => metric.endsWith("_bytes_per_s"));
  expect(sums.map(({ ok, bound }) => ok + bound)).toEqual([SEEDS, SEEDS]);
  // One run in ten has a value: of fewer runs one interval that misses, as one in twenty may, is a share of its own.
  const poor = rows.filter(({ ok, held, bound, right }) => (ok >= FEW && held < 0.9 * ok) || right < 0.97 * bound);
  expect(poor).toEqual([]);
  expect(sums.some(({ ok }) => ok >= FEW)).toBe(true);
});

test("reads per write are true where the words that are written most are read no more often, and none of these may have been drawn", () => {
  const rows = coverageOf(WRITTEN_BY_RANK, { seeds: 120, first: 400001, families: [readsPerWrite] });
  const [{ ok, held, bound, right } = { ok: 0, held: 0, bound: 0, right: 0 }] = rows;
  expect(ok).toBeGreaterThanOrEqual(FEW);
  expect(held).toBeGreaterThanOrEqual(0.9 * ok);
  expect(right).toBe(bound);
});
