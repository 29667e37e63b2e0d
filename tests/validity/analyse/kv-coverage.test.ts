/**
 * Servers of several slots with requests of random lengths: the 95 % intervals of how long KV rows are needed hold what is true of the
 * run's own rows, whatever becomes of them later, and of ever so many runs like it with other requests, or are refused. The seeds are
 * fixed, so that the outcome is too.
 */

import { expect, setDefaultTimeout, test } from "bun:test";
import { rowOf } from "../../../src/analyse/figures/figure-row.ts";
import type { MetricRow } from "../../../src/analyse/figures/metric-row.ts";
import { groupsOf } from "../../../src/analyse/input/group.ts";
import type { KvRowSample } from "../../../src/analyse/input/input.ts";
import { readsPerWrite } from "../../../src/analyse/metrics/reads-per-write.ts";
import { retention } from "../../../src/analyse/metrics/retention.ts";
import type { Truth } from "../../../src/simulate/true-quantiles.ts";
import { kvTokens } from "../../fixtures/listed-tokens.ts";
import { input } from "../../unit/analyse/sample-input.ts";
import { needsAlike, ownNeeds, type SlotRun } from "./slot-needs.ts";
import { type SlotServer, serverSteps } from "./slot-server.ts";

setDefaultTimeout(120_000);

const SECOND = 1e9;

function rowsOf({ server, before_ns, window_ns }: SlotRun, seed: number): KvRowSample[] {
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

/** How often figures said what is true, by who it is true of. */
interface Outcome {
  ok: number;
  held: number;
  bounds: number;
  kept: number;
}

/** Tokens, lognormal around a median. */
const tokens = (median: number, sigma: number) => ({ median, sigma });

const idle = { idle_ns: 3e8, shared: 0 };

const WORLDS: readonly (readonly [
  name: string,
  server: SlotServer,
  before_s: number,
  seconds: number,
  seeds: number,
])[] = [
  ["one slot", { slots: 1, prompt: tokens(20, 0.8), answer: tokens(15, 0.8), idle_ns: 1e8, shared: 0 }, 0, 10, 200],
  ["very unlike answers", { ...idle, slots: 4, prompt: tokens(15, 1.2), answer: tokens(12, 1.4) }, 0, 15, 200],
  [
    "a prefix that is kept",
    { ...idle, slots: 8, prompt: tokens(12, 0.6), answer: tokens(8, 0.8), shared: 0.5 },
    10,
    8,
    200,
  ],
  ["many requests", { slots: 8, prompt: tokens(4, 0.5), answer: tokens(5, 0.5), idle_ns: 1e8, shared: 0 }, 5, 14, 200],
  [
    "answers with a heavy tail",
    { ...idle, slots: 4, prompt: tokens(20, 0.5), answer: { median: 15, pareto: 1.2 } },
    0,
    20,
    40,
  ],
  ["some answers as long as the run", { ...idle, slots: 4, prompt: tokens(20, 0.5), answer: tokens(20, 2) }, 0, 30, 40],
  ["long prompts", { ...idle, slots: 4, prompt: tokens(400, 0.6), answer: tokens(60, 0.8) }, 0, 60, 40],
  [
    "a long beginning of all prompts",
    { ...idle, slots: 4, prompt: tokens(20, 0.8), answer: tokens(20, 0.8), system: 300 },
    0,
    20,
    40,
  ],
  ["chats", { ...idle, slots: 4, prompt: tokens(15, 0.8), answer: tokens(15, 0.8), turns: 5 }, 0, 40, 40],
  [
    "chats with long prompts",
    { ...idle, slots: 4, prompt: tokens(300, 0.6), answer: tokens(20, 0.8), turns: 3 },
    0,
    60,
    40,
  ],
  [
    "chats behind a long beginning, seen from their midst",
    { ...idle, slots: 4, prompt: tokens(15, 0.8), answer: tokens(15, 0.8), turns: 5, system: 300 },
    20,
    40,
    40,
  ],
  [
    "chats that leave out thoughts",
    { ...idle, slots: 4, prompt: tokens(15, 0.8), answer: tokens(15, 0.8), turns: 8, left_out: 0.3 },
    0,
    60,
    40,
  ],
];

/** Whether an interval, of which an end may be open, holds some of what is true. */
const holds = ({ lo, hi }: Pick<MetricRow, "lo" | "hi">, truth: Truth): boolean =>
  (lo ?? 0) <= truth.hi && truth.lo <= (hi ?? Number.POSITIVE_INFINITY);

test.each(WORLDS)("%s: intervals hold the truth, bounds lie on its side", (_, server, before_s, seconds, seeds) => {
  const run = { server, before_ns: before_s * SECOND, window_ns: seconds * SECOND };
  const alike = needsAlike(run);
  const outcomes = new Map<string, Outcome>();
  for (let seed = 1; seed <= seeds; seed++) {
    const [group] = groupsOf(input({ window_ns: run.window_ns, kvRows: rowsOf(run, seed), seed }));
    if (group === undefined) throw new Error("no KV cache");
    const truths = { "runs like it": alike, "the run": ownNeeds(run, seed) };
    for (const figure of [retention, readsPerWrite].flatMap(({ figures }) => figures(group, []))) {
      const row = rowOf(group, figure, "");
      for (const [whose, truth] of Object.entries(truths)) {
        const expected = truth.get(row.metric) ?? null;
        if (row.source !== "step" || expected === null) continue;
        const name = `${row.metric} of ${whose}`;
        const one = outcomes.get(name) ?? { ok: 0, held: 0, bounds: 0, kept: 0 };
        outcomes.set(name, one);
        const isHeld = holds(row, expected) ? 1 : 0;
        if (row.status === "ok") {
          one.ok += 1;
          one.held += isHeld;
        } else if (row.status === "bound") {
          one.bounds += 1;
          one.kept += isHeld;
        }
      }
    }
  }
  for (const [metric, { ok, held, bounds, kept }] of outcomes) {
    expect({ metric, ok, held, enough: held >= 0.9 * ok }).toEqual({ metric, ok, held, enough: true });
    expect({ metric, bounds, kept, enough: kept >= 0.97 * bounds - 1 }).toEqual({ metric, bounds, kept, enough: true });
  }
});
