/** How much slower the demo decodes while it is traced, at default settings and by its probes alone, by paired blocks. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { affinityCpus } from "../../src/kernel/libc.ts";
import { type AbResult, type BlockCosts, compareArms } from "../../src/overhead/ab.ts";
import { mirroredOrder } from "../../src/overhead/arm-order.ts";
import { type Attached, attachTo } from "./attached-run.ts";
import { aside, atMost, type BenchOptions, type BenchRow, median } from "./bench-row.ts";
import type { Passes } from "./pass-decoder.ts";
import { type RunningDecoder, startDecoder } from "./running-decoder.ts";

/** Passes of the demo's context, some 10 s: the tracer polls eagerly for its first two. */
const PASSES = 3;
const MARGIN_PCT = 2;
const SEED = 20240117;

type Arm = "off" | "on" | "probes";
const ARGUMENTS: Record<Exclude<Arm, "off">, readonly string[]> = { on: [], probes: ["--watch-registers", "0"] };

interface Measured extends Passes {
  readonly toolCpuPct: number | null;
}

/** One arm: the tracer comes and goes around the passes, on a CPU of its own. */
async function measure(arm: Arm, decoder: RunningDecoder, toolCpu: string, passes: number): Promise<Measured> {
  const output = mkdtempSync(join(tmpdir(), "mrm-slowdown-"));
  try {
    const tracer: Attached | null =
      arm === "off" ? null : await attachTo(decoder.pid, { cpu: toolCpu, output, args: ARGUMENTS[arm] });
    const taken = await decoder.decode(passes);
    const run = (await tracer?.end()) ?? null;
    // A tracer that did not see the steps would look cheap.
    if (run !== null && run.decodeTokens < taken.tokens) {
      throw new Error(`${run.decodeTokens} decode steps were seen of ${taken.tokens}`);
    }
    return { ...taken, toolCpuPct: run?.cpuPct ?? null };
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/** Blocks of six arms; about a minute and a half a block. */
export async function benchDecodeSlowdown({ blocks: count, quick }: BenchOptions): Promise<BenchRow[]> {
  const cpus = affinityCpus(0);
  const passes = quick ? 1 : PASSES;
  const toolCpu = String(cpus.at(-1) ?? 0);
  // It lives through all arms: what differs from process to process cancels.
  await using decoder = await startDecoder("110m", String(cpus[0] ?? 0));
  const { digest } = await decoder.decode(passes);
  const measured: Record<Arm, Measured[]>[] = [];
  for (const order of mirroredOrder<Arm>(["off", "on", "probes"], count, SEED)) {
    const block: Record<Arm, Measured[]> = { off: [], on: [], probes: [] };
    for (const arm of order) {
      const taken = await measure(arm, decoder, toolCpu, passes);
      if (taken.digest !== digest) throw new Error(`other tokens were decoded in arm ${arm}`);
      block[arm].push(taken);
    }
    measured.push(block);
  }
  return rowsOf(measured, cpus.length);
}

function compare(measured: readonly Record<Arm, Measured[]>[], arm: Arm): AbResult {
  const costs = (runs: readonly Measured[]): number[] => runs.map(({ ms, tokens }) => ms / tokens);
  const blocks: BlockCosts[] = measured.map((block) => ({ off: costs(block.off), on: costs(block[arm]) }));
  return compareArms(blocks, MARGIN_PCT, SEED);
}

function words({ slowdown_pct: of, sd_pct, verdict, blocks }: AbResult): string {
  const pct = (value: number): string => value.toFixed(2);
  return `${pct(of.value)} % [${pct(of.lo)}, ${pct(of.hi)}], sd ${pct(sd_pct)} % in ${blocks} blocks: ${verdict}`;
}

function rowsOf(measured: readonly Record<Arm, Measured[]>[], cpus: number): BenchRow[] {
  const on = compare(measured, "on");
  const probes = compare(measured, "probes");
  const all = (arm: Arm): Measured[] => measured.flatMap((block) => block[arm]);
  const shared = cpus < 2 ? "; tracer and target share one CPU" : "";
  const tokensPerSecond = median(all("off").map(({ tokens, ms }) => (1000 * tokens) / ms));
  return [
    atMost("decode slowdown at default settings, upper bound", on.upper_bound_pct, "%", MARGIN_PCT, words(on) + shared),
    atMost("decode slowdown of the probes alone, upper bound", probes.upper_bound_pct, "%", MARGIN_PCT, words(probes)),
    aside("decode: untraced", tokensPerSecond, "tokens/s"),
    aside("decode: CPU of the tracer", median(all("on").map((run) => run.toolCpuPct ?? Number.NaN)), "% of a CPU"),
  ];
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchDecodeSlowdown({ blocks: 1, quick: false }), null, 2)}\n`);
}
