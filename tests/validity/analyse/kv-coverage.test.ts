/**
 * Servers of several slots with requests of random lengths: the 95 % intervals of how long KV rows are needed hold what
 * is true of ever so many requests, or are refused. 200 seeds each, and they are fixed, so that the outcome is too.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { rowOf } from "../../../src/analyse/figures/figure-row.ts";
import { groupsOf } from "../../../src/analyse/input/group.ts";
import type { KvRowSample } from "../../../src/analyse/input/input.ts";
import { readsPerWrite } from "../../../src/analyse/metrics/reads-per-write.ts";
import { retention } from "../../../src/analyse/metrics/retention.ts";
import { kvTokens } from "../../../src/label/kv/kv-tokens.ts";
import { input } from "../../unit/analyse/sample-input.ts";
import { type SlotServer, serverSteps } from "./slot-server.ts";

setDefaultTimeout(120_000);

const SEEDS = 200;
const SECOND = 1e9;
/** So many times a run gives what is true. */
const LONG = 60;

interface World {
  readonly server: SlotServer;
  /** For so long it has served before the run begins. */
  readonly before_ns: number;
}

function rowsOf({ server, before_ns }: World, window_ns: number, seed: number): KvRowSample[] {
  const { tokens, untold } = kvTokens(serverSteps(server, before_ns, window_ns, seed));
  expect(untold).toBeNull();
  return tokens.map((token) => ({
    write_ns: token.write_ns,
    is_written: token.is_written,
    last_read_ns: token.last_read_ns ?? Number.NaN,
    evict_ns: token.evict_ns ?? Number.NaN,
    total_reads: token.total_reads,
    size_bytes: 1,
    filling: token.filling,
    writes: token.writes,
  }));
}

/** Quantiles of the need of rows that ended, and the steps that needed one; of a run so long that its ends do not count. */
function truthOf(world: World, window_ns: number): Record<string, number> {
  const rows = rowsOf(world, LONG * window_ns, 12_345).filter((row) => row.is_written && !Number.isNaN(row.evict_ns));
  const needs = Float64Array.from(rows, (row) => Math.max(0, (row.last_read_ns || row.write_ns) - row.write_ns)).sort();
  const quantile = (q: number): number => needs[Math.floor(q * needs.length)] ?? Number.NaN;
  const reads = rows.reduce((sum, { total_reads }) => sum + total_reads, 0);
  return {
    retention_p50_ns: quantile(0.5),
    retention_p90_ns: quantile(0.9),
    retention_p99_ns: quantile(0.99),
    reads_per_write: reads / rows.length,
  };
}

/** Tokens, lognormal around a median. */
const tokens = (median: number, sigma: number) => ({ median, sigma });

const WORLDS: readonly (readonly [name: string, server: SlotServer, before_s: number, seconds: number])[] = [
  ["one slot", { slots: 1, prompt: tokens(20, 0.8), answer: tokens(15, 0.8), idle_ns: 1e8, shared: 0 }, 0, 10],
  [
    "very unlike answers",
    { slots: 4, prompt: tokens(15, 1.2), answer: tokens(12, 1.4), idle_ns: 3e8, shared: 0 },
    0,
    15,
  ],
  [
    "a prefix that is kept",
    { slots: 8, prompt: tokens(12, 0.6), answer: tokens(8, 0.8), idle_ns: 3e8, shared: 0.5 },
    10,
    8,
  ],
  ["many requests", { slots: 8, prompt: tokens(4, 0.5), answer: tokens(5, 0.5), idle_ns: 1e8, shared: 0 }, 5, 14],
];

test.each(WORLDS)("%s: intervals hold the truth, bounds lie on its side", (_, server, before_s, seconds) => {
  const world = { server, before_ns: before_s * SECOND };
  const window_ns = seconds * SECOND;
  const truth = truthOf(world, window_ns);
  const outcomes = Object.fromEntries(
    Object.keys(truth).map((metric) => [metric, { ok: 0, held: 0, bounds: 0, kept: 0 }]),
  );
  for (let seed = 1; seed <= SEEDS; seed++) {
    const [group] = groupsOf(input({ window_ns, kvRows: rowsOf(world, window_ns, seed), seed }));
    if (group === undefined) throw new Error("no KV cache");
    for (const figure of [retention, readsPerWrite].flatMap(({ figures }) => figures(group, []))) {
      const row = rowOf(group, figure, "");
      const expected = truth[row.metric];
      const one = outcomes[row.metric];
      if (row.source !== "step" || expected === undefined || one === undefined) continue;
      if (row.status === "ok") {
        one.ok += 1;
        if ((row.lo ?? Infinity) <= expected && expected <= (row.hi ?? -Infinity)) one.held += 1;
      } else if (row.status === "bound") {
        one.bounds += 1;
        if ((row.lo ?? 0) <= expected && expected <= (row.hi ?? Infinity)) one.kept += 1;
      }
    }
  }
  for (const [metric, { ok, held, bounds, kept }] of Object.entries(outcomes)) {
    expect({ metric, ok, held, enough: held >= 0.9 * ok }).toEqual({ metric, ok, held, enough: true });
    expect({ metric, bounds, kept, enough: kept >= 0.97 * bounds - 1 }).toEqual({ metric, bounds, kept, enough: true });
  }
});
