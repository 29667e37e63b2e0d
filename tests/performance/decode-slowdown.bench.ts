/** How much slower the demo decodes while it is traced at default settings, by paired blocks; and by its probes alone. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { demoCacheDir } from "../../src/engine/demo/cache.ts";
import { demoCommand } from "../../src/engine/demo/demo.ts";
import type { DemoReport } from "../../src/engine/demo/report.ts";
import { affinityCpus } from "../../src/kernel/libc.ts";
import { type AbResult, type BlockCosts, compareArms } from "../../src/overhead/ab.ts";
import { mirroredOrder } from "../../src/overhead/arm-order.ts";
import { aside, atMost, type BenchOptions, type BenchRow, median } from "./bench-row.ts";
import { tracedRun } from "./traced-run.ts";

/** About 16 s: a program is polled eagerly for its first two, and a short decode would tell of little else. */
const TOKENS = 2400;
const QUICK_TOKENS = 100;
const MARGIN_PCT = 2;
const SEED = 20240117;

type Arm = "off" | "on" | "probes";
const ARGUMENTS: Record<Exclude<Arm, "off">, readonly string[]> = { on: [], probes: ["--watch-registers", "0"] };

/**
 * Binds the tracer, the parent of the held command, to a CPU of its own once it has attached everything, and the
 * command to another one. Bound from the start, the tracer would take its own CPU for the only one of the target.
 */
const PLACE = 'taskset -a -p -c "$1" "$PPID" >/dev/null && shift && exec taskset -c "$@"';

interface Decode {
  readonly tokensPerSecond: number;
  readonly toolCpuPct: number | null;
}

interface Place {
  readonly targetCpu: string;
  readonly toolCpu: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly reportPath: string;
  readonly tokens: number;
}

async function alone(place: Place): Promise<null> {
  const argv = ["taskset", "-c", place.targetCpu, ...place.command];
  const child = Bun.spawn(argv, { stdio: ["ignore", "ignore", "ignore"], env: { ...process.env, ...place.env } });
  if ((await child.exited) !== 0) throw new Error(`the demo ended with ${child.exitCode}`);
  return null;
}

/** CPU of the tracer in % of one CPU. */
async function traced(place: Place, args: readonly string[]): Promise<number | null> {
  const command = ["sh", "-c", PLACE, "sh", place.toolCpu, place.targetCpu, ...place.command];
  using run = await tracedRun(["--baseline", "100ms", ...args], command, place.env);
  const [steps] = await run.query("SELECT count(*) AS n FROM {step} WHERE kind = 'decode'");
  // A run whose probes were not there would look cheap.
  if (Number(steps?.n) < place.tokens) throw new Error(`${steps?.n} decode steps were seen of ${place.tokens}`);
  const observer = run.facts.observer as { readonly cpu_pct?: number | null };
  return observer.cpu_pct ?? null;
}

async function decode(arm: Arm, place: Place): Promise<Decode> {
  const toolCpuPct = arm === "off" ? await alone(place) : await traced(place, ARGUMENTS[arm]);
  const report = JSON.parse(readFileSync(place.reportPath, "utf8")) as DemoReport;
  rmSync(place.reportPath);
  if (report.decode_tokens_per_s === null) throw new Error("the demo decoded nothing");
  return { tokensPerSecond: report.decode_tokens_per_s, toolCpuPct };
}

/** Blocks of six runs of the demo, one thread; about two minutes a block. */
export async function benchDecodeSlowdown({ blocks: count, quick }: BenchOptions): Promise<BenchRow[]> {
  const cpus = affinityCpus(0);
  const dir = mkdtempSync(join(tmpdir(), "mrm-slowdown-"));
  try {
    const reportPath = join(dir, "report.json");
    const tokens = quick ? QUICK_TOKENS : TOKENS;
    const { command, env } = await demoCommand({
      cacheDir: demoCacheDir(),
      params: "110m",
      type: "q8_0",
      threads: 1,
      tokens,
      reportPath,
    });
    const place: Place = {
      targetCpu: String(cpus[0] ?? 0),
      toolCpu: String(cpus.at(-1) ?? 0),
      command,
      env,
      reportPath,
      tokens,
    };
    await decode("off", place);
    const measured: Record<Arm, Decode[]>[] = [];
    for (const order of mirroredOrder<Arm>(["off", "on", "probes"], count, SEED)) {
      const block: Record<Arm, Decode[]> = { off: [], on: [], probes: [] };
      for (const arm of order) block[arm].push(await decode(arm, place));
      measured.push(block);
    }
    return rowsOf(measured, cpus.length);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function compare(measured: readonly Record<Arm, Decode[]>[], arm: Arm): AbResult {
  const costs = (runs: readonly Decode[]): number[] => runs.map((run) => 1 / run.tokensPerSecond);
  const blocks: BlockCosts[] = measured.map((block) => ({ off: costs(block.off), on: costs(block[arm]) }));
  return compareArms(blocks, MARGIN_PCT, SEED);
}

function words({ slowdown_pct: of, sd_pct, verdict, blocks }: AbResult): string {
  const pct = (value: number): string => value.toFixed(2);
  return `${pct(of.value)} % [${pct(of.lo)}, ${pct(of.hi)}], sd ${pct(sd_pct)} % in ${blocks} blocks: ${verdict}`;
}

function rowsOf(measured: readonly Record<Arm, Decode[]>[], cpus: number): BenchRow[] {
  const on = compare(measured, "on");
  const probes = compare(measured, "probes");
  const all = (arm: Arm): Decode[] => measured.flatMap((block) => block[arm]);
  const shared = cpus < 2 ? "; tracer and target share one CPU" : "";
  return [
    atMost("decode slowdown at default settings, upper bound", on.upper_bound_pct, "%", MARGIN_PCT, words(on) + shared),
    atMost("decode slowdown of the probes alone, upper bound", probes.upper_bound_pct, "%", MARGIN_PCT, words(probes)),
    aside("decode: untraced", median(all("off").map((run) => run.tokensPerSecond)), "tokens/s"),
    aside("decode: CPU of the tracer", median(all("on").map((run) => run.toolCpuPct ?? Number.NaN)), "% of a CPU"),
  ];
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchDecodeSlowdown({ blocks: 1, quick: false }), null, 2)}\n`);
}
