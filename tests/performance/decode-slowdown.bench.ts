/** How much slower the demo decodes while it is traced at default settings, by paired blocks within one decoding. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { affinityCpus, monotonicNs } from "../../src/kernel/libc.ts";
import { type AbResult, compareArms } from "../../src/overhead/ab.ts";
import { mirroredOrder } from "../../src/overhead/arm-order.ts";
import { type AttachedRun, attachTo } from "./attached-run.ts";
import { aside, atMost, type BenchOptions, type BenchRow } from "./bench-row.ts";
import type { Decodes } from "./pass-decoder.ts";
import { type RunningDecoder, startDecoder } from "./running-decoder.ts";
import { blocksOf, type Turn } from "./toggled-tokens.ts";

/** The noise of a shared machine is as large over 0.3 s as over a minute: many short turns tell most. */
const TURN_MS = 300;
/** A register that was armed when the tracer was stopped is hit eight times at most, in four tokens or so. */
const SETTLE_NS = 60e6;
/** The tracer compiles its code. */
const LEAD_MS = 5000;
/** Blocks of four turns for each block that was asked for, a minute together. */
const BLOCKS = 50;
const QUICK_BLOCKS = 6;
const MARGIN_PCT = 2;
const SEED = 20240117;

interface Toggled {
  readonly decodes: Decodes;
  readonly result: AbResult;
}

/** Decodes while a process is stopped and let go on in blocks of ABBA and BAAB. */
async function toggle(decoder: RunningDecoder, pid: number, blocks: number): Promise<Toggled> {
  const seconds = (LEAD_MS + (4 * blocks + 2) * TURN_MS) / 1000;
  const decoding = decoder.decode({ prompts: null, seconds });
  await Bun.sleep(LEAD_MS);
  const turns: Turn[] = [];
  for (const arm of mirroredOrder<"off" | "on">(["off", "on"], blocks, SEED).flat()) {
    process.kill(pid, arm === "on" ? "SIGCONT" : "SIGSTOP");
    const begin_ns = Number(monotonicNs());
    await Bun.sleep(TURN_MS);
    turns.push({ on: arm === "on", begin_ns, end_ns: Number(monotonicNs()) });
  }
  process.kill(pid, "SIGCONT");
  const decodes = await decoding;
  return { decodes, result: compareArms(blocksOf(decodes, turns, SETTLE_NS), MARGIN_PCT, SEED) };
}

/** A process that does nothing, toggled as the tracer is: what the method finds where there is nothing. */
async function toggleNothing(decoder: RunningDecoder, blocks: number): Promise<AbResult> {
  const child = Bun.spawn(["sleep", "infinity"], { stdio: ["ignore", "ignore", "ignore"] });
  try {
    return (await toggle(decoder, child.pid, blocks)).result;
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
}

interface Traced extends Toggled {
  readonly run: AttachedRun;
  readonly probesAtMostPct: number;
}

async function toggleTracer(decoder: RunningDecoder, cpu: string, blocks: number): Promise<Traced> {
  const output = mkdtempSync(join(tmpdir(), "mrm-slowdown-"));
  try {
    const tracer = await attachTo(decoder.pid, { cpu, output, args: [] });
    const toggled = await toggle(decoder, tracer.pid, blocks);
    const run = await tracer.end();
    const { decodes } = toggled;
    // A tracer that did not see the steps, or watched nothing, would look cheap.
    if (run.decodeTokens < decodes.tokens) throw new Error(`${run.decodeTokens} of ${decodes.tokens} steps were seen`);
    if (run.accesses === 0) throw new Error("no access to a watched address was seen");
    const decoding_ns = decodes.end_ns.reduce((sum, end, i) => sum + end - (decodes.begin_ns[i] ?? end), 0);
    return { ...toggled, run, probesAtMostPct: (100 * run.probesAtMostNs) / decoding_ns };
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/**
 * The tracer stays attached and is stopped by turns: then it polls nothing, arms nothing, and what it armed is hit no more.
 * What its probes cost even then is added from what a hit costs in a loop. A minute and a quarter a block.
 */
export async function benchDecodeSlowdown({ blocks: count, quick }: BenchOptions): Promise<BenchRow[]> {
  const cpus = affinityCpus(0);
  const blocks = quick ? QUICK_BLOCKS : count * BLOCKS;
  await using decoder = await startDecoder("110m", String(cpus[0] ?? 0));
  const nothing = await toggleNothing(decoder, Math.ceil(blocks / 4));
  const traced = await toggleTracer(decoder, String(cpus.at(-1) ?? 0), blocks);
  return rowsOf(nothing, traced, cpus.length);
}

function words({ slowdown_pct: of, sd_pct, verdict, blocks, unusable }: AbResult): string {
  const pct = (value: number): string => value.toFixed(2);
  const left = unusable > 0 ? `, ${unusable} left out` : "";
  return `${pct(of.value)} % [${pct(of.lo)}, ${pct(of.hi)}], sd ${pct(sd_pct)} % in ${blocks} blocks${left}: ${verdict}`;
}

function rowsOf(nothing: AbResult, { decodes, result, run, probesAtMostPct }: Traced, cpus: number): BenchRow[] {
  const shared = cpus < 2 ? "; tracer and target share one CPU" : "";
  const probes = `probes, which stay, add ${probesAtMostPct.toFixed(3)} % at most`;
  const seconds = ((decodes.end_ns.at(-1) ?? 0) - (decodes.begin_ns[0] ?? 0)) / 1e9;
  return [
    atMost(
      "decode slowdown at default settings, upper bound",
      result.upper_bound_pct + probesAtMostPct,
      "%",
      MARGIN_PCT,
      `${words(result)}; ${probes}${shared}`,
    ),
    aside("decode slowdown by nothing", nothing.slowdown_pct.value, "%", words(nothing)),
    aside("decode: beside the tracer, half of the time on", decodes.tokens / seconds, "tokens/s"),
    aside("decode: CPU of the tracer", run.cpuPct ?? Number.NaN, "% of a CPU", "over all turns, on and off"),
  ];
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchDecodeSlowdown({ blocks: 1, quick: false }), null, 2)}\n`);
}
