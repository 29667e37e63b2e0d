/** Whether `compare` finds a slowdown that is known: a burner takes its share of the target's own CPU. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandWorkload } from "../../src/compare/command-workload.ts";
import { measureArms } from "../../src/compare/measure-arms.ts";
import { placementOf } from "../../src/compare/placement.ts";
import { runUnit, type UnitRequest, type UnitResult } from "../../src/compare/run-unit.ts";
import { bindProcess } from "../../src/kernel/affinity.ts";
import { affinityCpus } from "../../src/kernel/libc.ts";
import { RUNS_PER_BLOCK } from "../../src/overhead/effect.ts";
import type { FigureEffect } from "../../src/schema/observer-effect.ts";
import { compileProgram } from "../fixtures/compile.ts";
import { aside, atMost, type BenchOptions, type BenchRow } from "./bench-row.ts";

const MARGIN_PCT = 2;
const SEED = 20240118;
/** 5 ms of every 100 ms: 5 % of the CPU. */
const BUSY_US = 5000;
const PERIOD_US = 100_000;
const MILLION_STEPS = 400;
const QUICK_MILLION_STEPS = 50;
const BURNER = "burner";

interface Burnt {
  cpu_ns: number;
  wall_ns: number;
}

/** Runs a unit beside a burner on the target's CPUs, and adds what it burnt. */
async function besideBurner(request: UnitRequest, burnt: Burnt): Promise<UnitResult> {
  const cpus = request.placement.targetCpus.join(",");
  const program = [compileProgram("burner"), String(BUSY_US), String(PERIOD_US)];
  const burner = Bun.spawn(["taskset", "-c", cpus, ...program], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  try {
    const reader = burner.stdout.getReader();
    const decoder = new TextDecoder();
    let text = decoder.decode((await reader.read()).value);
    const result = await runUnit(request);
    burner.kill("SIGTERM");
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value);
    const [cpu = "0", wall = "0"] = (text.trim().split("\n").at(-1) ?? "").split(" ");
    burnt.cpu_ns += Number(cpu);
    burnt.wall_ns += Number(wall);
    return result;
  } finally {
    burner.kill("SIGKILL");
  }
}

const words = ({ slowdown_pct: of, verdict, blocks, sd_pct }: FigureEffect): string =>
  `[${of.lo.toFixed(2)}, ${of.hi.toFixed(2)}], sd ${sd_pct.toFixed(2)} % in ${blocks} blocks: ${verdict}`;

/** Twice the runs of a block for each of three arms, of about two seconds each; half a minute a block. */
export async function benchObserverEffect({ blocks, quick }: BenchOptions): Promise<BenchRow[]> {
  const placement = placementOf(true);
  if (!placement.pinned) return [aside("slowdown by a burner: needs two CPUs", Number.NaN, "%")];
  const scratch = mkdtempSync(join(tmpdir(), "mrm-burner-"));
  const burnt: Burnt = { cpu_ns: 0, wall_ns: 0 };
  const before = affinityCpus(0);
  bindProcess(process.pid, placement.toolCpus);
  try {
    const steps = quick ? QUICK_MILLION_STEPS : MILLION_STEPS;
    const { arms } = await measureArms({
      arms: ["off", "off-again", BURNER].map((name) => ({ name, options: null })),
      workload: commandWorkload([compileProgram("fixed-work"), String(steps)]),
      placement,
      scratch,
      timeoutMs: 60_000,
      seed: SEED,
      repeats: blocks * RUNS_PER_BLOCK,
      marginPct: MARGIN_PCT,
      signal: new AbortController().signal,
      say: () => {},
      unit: (request) => (request.arm.name === BURNER ? besideBurner(request, burnt) : runUnit(request)),
    });
    const wall = (name: string): FigureEffect | undefined =>
      arms.find(({ arm }) => arm === name)?.figures.find(({ figure }) => figure === "wall_s");
    const [again, burner] = [wall("off-again"), wall(BURNER)];
    if (again === undefined || burner === undefined) throw new Error("no wall time was measured");
    const share = burnt.cpu_ns / burnt.wall_ns;
    const true_pct = (100 * share) / (1 - share);
    const { value, lo, hi } = burner.slowdown_pct;
    const holds = lo <= true_pct && true_pct <= hi ? "the interval holds it" : "the interval does not hold it";
    return [
      atMost(
        "burner on the target's CPU: error of its slowdown",
        Math.abs(value - true_pct),
        "% points",
        1,
        `true ${true_pct.toFixed(2)} %, measured ${value.toFixed(2)} % ${words(burner)}; ${holds}`,
      ),
      aside("off against off", again.slowdown_pct.value, "%", words(again)),
    ];
  } finally {
    bindProcess(process.pid, before);
    rmSync(scratch, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchObserverEffect({ blocks: 6, quick: false }), null, 2)}\n`);
}
