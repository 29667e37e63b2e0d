/** Servers of several slots, told by their engine's steps: what is true follows from a replay of these, row by row. */

import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { isPrefill, type StepRow } from "../../../../src/label/timeline/step-row.ts";
import { detailOf } from "../../../../src/schema/step-detail.ts";
import { quantileOf, type Truth } from "../../../../src/simulate/true-quantiles.ts";
import { kvTokens } from "../../../fixtures/listed-tokens.ts";
import { input } from "../../../unit/analyse/sample-input.ts";
import { needsAlike } from "../../analyse/slot-needs.ts";
import { type SlotServer, serverSteps } from "../../analyse/slot-server.ts";
import type { SourceRun, SourceWorld } from "./source-world.ts";

const SECOND = 1e9;
const ROW_BYTES = 1024;

interface Replay {
  readonly written: number;
  readonly needed: number;
  /** Of each need of a row: how old it was. */
  readonly ages_ns: readonly number[];
}

/** Replays the steps: a batch writes rows of its sequences, and needs all that they had before it. */
function replay(steps: readonly StepRow[]): Replay {
  const slots = new Map<number, number[]>();
  const ages_ns: number[] = [];
  let written = 0;
  let needed = 0;
  for (const step of steps) {
    const detail = detailOf(step);
    if (step.kind === "kv_trim") {
      slots.get(step.sequence_id ?? 0)?.splice(Number(detail.position_from));
    }
    if (step.kind !== "decode") continue;
    for (const [slot, , tokens] of detail.kv_rows as [number, number, number][]) {
      const rows = slots.get(slot) ?? [];
      slots.set(slot, rows);
      for (const write_ns of rows) ages_ns.push(step.begin_ns - write_ns);
      needed += rows.length;
      written += tokens;
      for (let i = 0; i < tokens; i++) rows.push(step.begin_ns);
    }
  }
  return { written, needed, ages_ns };
}

const exactly = (value: number): Truth => ({ lo: value, hi: value });

function run(
  server: SlotServer,
  window_ns: number,
  seed: number,
): Omit<SourceRun, "truth"> & { own: Map<string, Truth | null> } {
  const steps = serverSteps(server, 0, window_ns, seed);
  const { tokens } = kvTokens(steps);
  const batches = steps.filter(({ kind }) => kind === "decode");
  const first = batches[0]?.begin_ns ?? 0;
  const seconds = ((batches.at(-1)?.end_ns ?? 0) - first) / SECOND;
  const rows = computeMetrics(
    input({
      window_ns,
      seed,
      regions: [{ region_type: "kv_cache", size_bytes: ROW_BYTES * 1e5, death_ns: window_ns }],
      steps: batches.map((step) => ({
        step: isPrefill(step) ? "prefill" : "decode",
        begin_ns: step.begin_ns,
        end_ns: step.end_ns,
        n_tokens: step.n_tokens ?? 0,
      })),
      kvRows: tokens.map((token) => ({
        write_ns: token.write_ns,
        is_written: token.is_written,
        last_read_ns: token.last_read_ns ?? Number.NaN,
        evict_ns: token.evict_ns ?? Number.NaN,
        total_reads: token.total_reads,
        needs: token.reads,
        size_bytes: ROW_BYTES,
        filling: token.filling,
        writes: token.writes,
      })),
    }),
  );
  const { written, needed, ages_ns } = replay(steps);
  return {
    rows,
    own: new Map<string, Truth | null>([
      ["write_bytes_per_s", exactly((ROW_BYTES * written) / seconds)],
      ["read_bytes_per_s", exactly((ROW_BYTES * needed) / seconds)],
      ["needs_per_write", exactly(needed / written)],
      ["age_at_read_p50_ns", quantileOf(ages_ns, 0.5)],
      ["age_at_read_p99_ns", quantileOf(ages_ns, 0.99)],
    ]),
  };
}

/** Tokens, lognormal around a median. */
const tokens = (median: number, sigma: number) => ({ median, sigma });

const SERVERS: readonly (readonly [name: string, server: SlotServer, seconds: number])[] = [
  ["one slot", { slots: 1, prompt: tokens(20, 0.8), answer: tokens(15, 0.8), idle_ns: 1e8, shared: 0 }, 10],
  [
    "4 slots, very unlike answers",
    { slots: 4, prompt: tokens(15, 1.2), answer: tokens(12, 1.4), idle_ns: 3e8, shared: 0 },
    15,
  ],
  [
    "8 slots, half of each prompt kept",
    { slots: 8, prompt: tokens(12, 0.6), answer: tokens(8, 0.8), idle_ns: 3e8, shared: 0.5 },
    8,
  ],
  [
    "8 slots, many short requests",
    { slots: 8, prompt: tokens(4, 0.5), answer: tokens(5, 0.5), idle_ns: 1e8, shared: 0 },
    14,
  ],
  [
    "2 slots, few long requests",
    { slots: 2, prompt: tokens(80, 0.5), answer: tokens(60, 0.7), idle_ns: 1e9, shared: 0 },
    15,
  ],
  [
    "4 slots, long prompts",
    { slots: 4, prompt: tokens(400, 0.6), answer: tokens(40, 0.8), idle_ns: 3e8, shared: 0 },
    30,
  ],
  [
    "4 slots, chats behind a long beginning",
    { slots: 4, prompt: tokens(15, 0.8), answer: tokens(15, 0.8), idle_ns: 3e8, shared: 0, turns: 5, system: 300 },
    30,
  ],
];

export const SLOT_SERVERS: readonly SourceWorld[] = SERVERS.map(([name, server, seconds]) => {
  const window_ns = seconds * SECOND;
  let truth: Map<string, Truth | null> | null = null;
  return {
    name: `a server of ${name}`,
    sources: ["step"],
    run(seed) {
      truth ??= needsAlike({ server, before_ns: 0, window_ns });
      const { rows, own } = run(server, window_ns, seed);
      return { rows, truth: new Map([...truth, ...own]) };
    },
  };
});
