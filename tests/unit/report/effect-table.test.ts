import { describe, expect, test } from "bun:test";
import { renderEffect } from "../../../src/report/effect-table.ts";
import type { ArmEffect, FigureEffect, ObserverEffect } from "../../../src/schema/observer-effect.ts";

const FIGURE: FigureEffect = {
  figure: "tokens_per_s",
  unit: "tokens/s",
  blocks: 10,
  unusable: 0,
  off: 50,
  on: 49.5,
  slowdown_pct: { value: 1.01, lo: 0.4, hi: 1.6 },
  lower_bound_pct: 0.5,
  upper_bound_pct: 1.5,
  hodges_lehmann_pct: 1,
  wilcoxon_p: 0.01,
  sd_pct: 0.8,
  verdict: "PASS",
  why: null,
  repeats_needed: null,
};

const ARM: ArmEffect = {
  arm: "ebpf",
  options: ["--collector", "ebpf"],
  unavailable: null,
  verdict: "PASS",
  figures: [FIGURE],
  runs: 20,
  events_kept: 41_000,
  events_lost: 12,
  loss_pct: 0.03,
  capture_bytes_per_event: 6.6,
  tracer_cpu_pct: 12,
  tracer_rss_bytes: 140 * 2 ** 20,
  cost_per_event_ns: { value: 810, lo: -20, hi: 1600 },
};
const NOISE = { ...FIGURE, slowdown_pct: { value: -0.1, lo: -0.5, hi: 0.3 } };
const AGAIN: ArmEffect = { ...ARM, arm: "off-again", figures: [NOISE], events_kept: null, cost_per_event_ns: null };

function effectOf(arms: readonly ArmEffect[]): ObserverEffect {
  return {
    schema_version: "1.0",
    compare_id: "c",
    workload: { kind: "command", command: ["./infer"] },
    repeats: 20,
    blocks: 10,
    seed: 1,
    margin_pct: 2,
    deciding_figure: "tokens_per_s",
    stopped_by: "complete",
    failure: null,
    settings: {
      target_cpus: [0],
      tool_cpus: [1],
      threads: 2,
      engine_threads: 1,
      environment: { OMP_NUM_THREADS: "1" },
    },
    warnings: ["look out"],
    arms,
    runs: [],
    host: {},
  };
}

const shown = (arms: readonly ArmEffect[], width = 120): string =>
  renderEffect(effectOf(arms), "results/x", { width, color: false, unicode: false });

describe("the table of an observer effect", () => {
  test("says how many tokens were streamed and how many the engine counts, of the runs that count", () => {
    const run = {
      ...{
        arm: "off",
        tokens_per_s: 50,
        served_tokens_per_s: 90,
        engine_tokens_per_s: 51,
        ttft_ms: 3,
        token_p50_ms: 20,
        token_p99_ms: 30,
      },
      ...{ wall_s: null, peak_rss_bytes: 1e6, threads: 1, pinned: true, engine_prompt_tokens: 9 },
    };
    const of = (runs: readonly (number | null)[][]): string => {
      const rows = runs.map(([block, streamed, engine]) => ({
        ...run,
        block: block ?? 0,
        streamed_tokens: streamed ?? null,
        engine_tokens: engine ?? null,
      }));
      return renderEffect({ ...effectOf([AGAIN]), runs: rows }, "x", { width: 120, color: false, unicode: false });
    };
    expect(
      of([
        [-1, 7, 7],
        [0, 64, 64],
        [0, 96, 97],
      ]),
    ).toContain("160 streamed to the client, 161 as the engine counts them");
    expect(
      of([
        [0, 64, 64],
        [0, 96, null],
      ]),
    ).toContain("160 streamed to the client, the engine says no count");
    expect(of([[0, null, null]])).not.toContain("streamed");
  });

  test("says of several clients how many requests there were, and how alike they were served without a tracer", () => {
    const client = { requests: 8, streamed_tokens: 256, ttft_ms: 3, token_p50_ms: 1.5, token_p99_ms: 4 };
    const slower = { ...client, ttft_ms: 5, token_p50_ms: 1.5 };
    const run = {
      ...{ tokens_per_s: 50, served_tokens_per_s: 90, engine_tokens_per_s: 51, ttft_ms: 3, token_p50_ms: 20 },
      ...{ token_p99_ms: 30, wall_s: null, peak_rss_bytes: 1e6, threads: 1, pinned: true, engine_prompt_tokens: 9 },
      ...{ streamed_tokens: 512, engine_tokens: 512, clients: [client, slower] },
    };
    const runs = [
      { ...run, block: -1, arm: "off" },
      { ...run, block: 0, arm: "off" },
      { ...run, block: 0, arm: "ebpf", clients: [client, { ...slower, ttft_ms: 900 }] },
    ];
    const text = (clients: number): string => {
      const load = { api: "openai" as const, clients, tokens: 32, block_ns: 1e9 };
      const effect = { ...effectOf([AGAIN]), runs };
      const workload = { ...effect.workload, kind: "server" as const, load };
      return renderEffect({ ...effect, workload }, "x", { width: 160, color: false, unicode: false });
    };
    expect(text(2)).toContain(
      "2 at once, 32 requests in all arms; without a tracer, by client and run, first token p50 3.00 ms to 5.00 ms; between tokens p50 1.50 ms",
    );
    expect(text(1)).not.toContain("at once");
  });

  test("has each arm with its interval, its verdict and what it cost, and the settings beside it", () => {
    const text = shown([AGAIN, ARM]);
    expect(text).toContain("+1.01 % [+0.40, +1.60] PASS");
    expect(text).toContain("-0.10 % [-0.50, +0.30] PASS");
    expect(text).toContain("+1.00 % p 0.01");
    expect(text).toContain("12 (0.0300 %)");
    expect(text).toContain("<= 1.60 us");
    expect(text).toContain(
      "2 threads at most, the engine was told 1; target on CPU 0, tools on CPU 1; OMP_NUM_THREADS=1",
    );
    expect(text).toContain("look out");
  });

  test("never tells a cost below nothing, nor a slowdown that no second block stands beside", () => {
    const cost = (lo: number, hi: number) => ({ ...ARM, cost_per_event_ns: { value: (lo + hi) / 2, lo, hi } });
    expect(shown([AGAIN, cost(500, 1100)])).toContain("800 ns [500 ns, 1.10 us]");
    expect(shown([AGAIN, cost(-300_000, -20_000)])).toContain("none seen");
    const one = { ...FIGURE, blocks: 1, slowdown_pct: { value: -34.81, lo: Number.NaN, hi: Number.NaN } };
    const text = shown([AGAIN, { ...ARM, figures: [one] }]);
    expect(text).toContain("one block: no interval");
    expect(text).not.toContain("-34.81");
  });

  test("says once of a machine that is too noisy, with the repeats that it would take", () => {
    const why = "the machine is too noisy";
    const noisy = { verdict: "INCONCLUSIVE" as const, why, repeats_needed: 84 };
    const arms = [AGAIN, ARM].map((arm) => ({
      ...arm,
      ...noisy,
      figures: arm.figures.map((of) => ({ ...of, ...noisy })),
    }));
    const text = shown(arms).replace(/\s+/g, " ");
    expect(text.split(why)).toHaveLength(2);
    expect(text).toContain("nothing is claimed of any arm; about --repeats 84 would be needed");
    const many = shown(
      arms.map((arm) => ({ ...arm, figures: arm.figures.map((one) => ({ ...one, repeats_needed: 154_954 })) })),
    );
    expect(many.replace(/\s+/g, " ")).toMatch(
      /more than the 10000 that --repeats takes, a larger --margin, or .* would be needed/,
    );
  });

  test("names an arm that cannot run here, and fits into a narrow terminal", () => {
    const blocked = { ...ARM, arm: "perf-mem", unavailable: "perf is not installed", figures: [] };
    const text = shown([AGAIN, ARM, blocked], 60);
    expect(text.replace(/\s+/g, " ")).toContain("perf-mem: cannot run here: perf is not installed");
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(60);
  });
});
