/** What recording slows a program by, eBPF against perf on the same events: faults, accesses to one word, timer samples. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { armsOf } from "../../src/compare/arms.ts";
import { commandWorkload } from "../../src/compare/command-workload.ts";
import { type Measured, measureArms } from "../../src/compare/measure-arms.ts";
import { placementOf } from "../../src/compare/placement.ts";
import { bindProcess } from "../../src/kernel/affinity.ts";
import { affinityCpus } from "../../src/kernel/libc.ts";
import { RUNS_PER_BLOCK } from "../../src/overhead/effect.ts";
import { type ArmEffect, OFF, OFF_AGAIN } from "../../src/schema/observer-effect.ts";
import { compileProgram } from "../fixtures/compile.ts";
import { aside, atMost, type BenchOptions, type BenchRow } from "./bench-row.ts";
import { blockInterval } from "./block-interval.ts";

const SEED = 20_240_119;
const MARGIN_PCT = 2;
const TIMEOUT_MS = 60_000;
/** So many that the timer's cost can be told from noise; at the 100 Hz that both take unless told it cannot. */
const TIMER_HZ = 2000;

interface Events {
  readonly what: string;
  readonly ebpf: string;
  readonly perf: string;
  /** Options of every traced arm. */
  readonly options: readonly string[];
  readonly command: readonly string[];
  /** Most that eBPF may slow by over what perf slows by. */
  readonly target: number;
}

function eventsOf(quick: boolean): Events[] {
  const times = (n: number): string => String(quick ? Math.ceil(n / 20) : n);
  const toucher = compileProgram("touch-word", ["-no-pie"]);
  const word = `mem:${Bun.spawnSync([toucher]).stdout.toString().trim()}/8:rw`;
  return [
    {
      what: "page fault",
      ebpf: "ebpf:faults",
      perf: "perf-mem:page-faults",
      options: [],
      command: [compileProgram("fault-storm"), "1", "100000", times(10)],
      target: 1 / 3,
    },
    {
      what: "access to a watched word",
      ebpf: `ebpf:${word}`,
      perf: `perf-mem:${word}`,
      options: [],
      command: [toucher, times(30_000), "50000"],
      target: 1,
    },
    {
      what: "timer sample",
      ebpf: "ebpf:clock",
      perf: `perf-mem:cpu-clock+freq=${TIMER_HZ}`,
      options: ["--clock-hz", String(TIMER_HZ), "--budget", "50"],
      command: [compileProgram("fixed-work"), times(400)],
      target: 1,
    },
  ];
}

/** Mean wall times of a block by arm, in s. */
type Walls = Readonly<Record<"off" | "ebpf" | "perf", number>>;

function wallsOf({ runs, blocks }: Measured, { ebpf, perf }: Events): Walls[] {
  const mean = (block: number, arms: readonly string[]): number => {
    const walls = runs.filter((run) => run.block === block && arms.includes(run.arm)).map(({ wall_s }) => wall_s ?? 0);
    return walls.reduce((sum, wall) => sum + wall, 0) / walls.length;
  };
  return Array.from({ length: blocks }, (_, block) => ({
    off: mean(block, [OFF, OFF_AGAIN]),
    ebpf: mean(block, [ebpf]),
    perf: mean(block, [perf]),
  }));
}

/** What eBPF adds over what perf adds, in all of these blocks together. */
function ratioOf(walls: readonly Walls[]): number {
  const added = (arm: "ebpf" | "perf"): number => walls.reduce((sum, wall) => sum + wall[arm] - wall.off, 0);
  return added("ebpf") / added("perf");
}

function armRow(what: string, arm: ArmEffect | undefined): BenchRow {
  const wall = arm?.figures.find(({ figure }) => figure === "wall_s");
  if (arm === undefined || wall === undefined) throw new Error(`${what}: ${arm?.unavailable ?? "no wall time"}`);
  const { value, lo, hi } = wall.slowdown_pct;
  const each = arm.cost_per_event_ns === null ? "" : `, ${(arm.cost_per_event_ns.value / 1000).toFixed(2)} us an event`;
  const events =
    arm.events_kept === null
      ? ""
      : `; ${Math.round(arm.events_kept)} events, ${Math.round(arm.events_lost ?? 0)} lost${each}; tracer ${(arm.tracer_cpu_pct ?? 0).toFixed(0)} % of a CPU`;
  return aside(`${what}: slowdown by ${arm.arm}`, value, "%", `95 % [${lo.toFixed(2)}, ${hi.toFixed(2)}]${events}`);
}

/** Four arms of about two seconds a run, three times: a minute and a half a block. */
export async function benchSameEvents({ blocks, quick }: BenchOptions): Promise<BenchRow[]> {
  const placement = placementOf(true);
  if (!placement.pinned) return [aside("slowdown on the same events: needs two CPUs", Number.NaN, "%")];
  const scratch = mkdtempSync(join(tmpdir(), "mrm-same-events-"));
  const before = affinityCpus(0);
  bindProcess(process.pid, placement.toolCpus);
  const rows: BenchRow[] = [];
  try {
    for (const events of eventsOf(quick)) {
      const measured = await measureArms({
        arms: armsOf([events.ebpf, events.perf], events.options),
        workload: commandWorkload(events.command),
        placement,
        scratch,
        timeoutMs: TIMEOUT_MS,
        seed: SEED,
        repeats: blocks * RUNS_PER_BLOCK,
        marginPct: MARGIN_PCT,
        signal: new AbortController().signal,
        say: () => {},
      });
      if (measured.failure !== null) throw measured.failure;
      const walls = wallsOf(measured, events);
      const what = `${events.what}: slowdown by eBPF over slowdown by perf`;
      rows.push(atMost(what, ratioOf(walls), "1", events.target, blockInterval(walls, ratioOf, SEED)));
      for (const arm of [events.ebpf, events.perf, OFF_AGAIN]) {
        rows.push(
          armRow(
            events.what,
            measured.arms.find((one) => one.arm === arm),
          ),
        );
      }
    }
    return rows;
  } finally {
    bindProcess(process.pid, before);
    rmSync(scratch, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchSameEvents({ blocks: 5, quick: false }), null, 2)}\n`);
}
