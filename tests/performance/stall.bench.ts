/** How long a target waits for its own map while it is watched: one that holds 30 GB mapped, traced and untraced by turns. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { affinityCpus } from "../../src/kernel/libc.ts";
import { compileProgram } from "../fixtures/compile.ts";
import { lineReader } from "../fixtures/line-reader.ts";
import { attachTo } from "./attached-run.ts";
import { aside, atMost, type BenchOptions, type BenchRow } from "./bench-row.ts";

const MAPPED_MIB = 30 * 1024;
const MOST_HELD_MIB = 8 * 1024;
const QUICK_HELD_MIB = 256;
/** What of the free memory may be filled: others run here too. */
const HELD_SHARE = 0.5;
const COUNT = 10_000;
const QUICK_COUNT = 1000;
/** The worst stall, beyond what the same program sees untraced. */
const TARGET_US = 1000;
const ATTACH_ARGS = ["--duration", "600s"];

function availableMib(): number {
  const kib = /^MemAvailable: +(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1];
  return Number(kib ?? 0) / 1024;
}

/** The least value that this share of them does not pass. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

const QUANTILES = [
  ["p50", 0.5],
  ["p99", 0.99],
  ["p99.9", 0.999],
  ["worst", 1],
] as const;

interface Target extends AsyncDisposable {
  readonly pid: number;
  /** Time in us of each of `count` rounds. */
  rounds(count: number): Promise<number[]>;
}

async function startTarget(heldMib: number, cpu: number): Promise<Target> {
  const argv = [compileProgram("map-latency"), String(heldMib), String(MAPPED_MIB)];
  // Real time: what else runs on its CPU is no stall.
  const child = Bun.spawn(["taskset", "-c", String(cpu), "chrt", "-f", "1", ...argv], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const nextLine = lineReader(child.stdout);
  if ((await nextLine()) !== "ready") throw new Error("the target could not have its memory");
  return {
    pid: child.pid,
    async rounds(count) {
      child.stdin.write(`${count}\n`);
      child.stdin.flush();
      const line = await nextLine();
      if (line === null) throw new Error("the target ended");
      return line
        .trim()
        .split(" ")
        .map((ns) => Number(ns) / 1e3);
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** Blocks of untraced, traced, traced, untraced, each of ten seconds: three quarters of a minute a block. */
export async function benchStall({ blocks, quick }: BenchOptions): Promise<BenchRow[]> {
  const cpus = affinityCpus(0);
  const [targetCpu = 0, toolCpu = targetCpu] = [cpus[0], cpus.at(-1)];
  const held = quick ? QUICK_HELD_MIB : Math.floor(Math.min(MOST_HELD_MIB, HELD_SHARE * availableMib()));
  const count = quick ? QUICK_COUNT : COUNT;
  const scratch = mkdtempSync(join(tmpdir(), "mrm-stall-"));
  const took: Record<"untraced" | "traced", number[]> = { untraced: [], traced: [] };
  try {
    await using target = await startTarget(held, targetCpu);
    for (let block = 0; block < blocks; block++) {
      took.untraced.push(...(await target.rounds(count)));
      const attached = await attachTo(target.pid, { cpu: String(toolCpu), output: scratch, args: ATTACH_ARGS });
      took.traced.push(...(await target.rounds(2 * count)));
      await attached.end();
      took.untraced.push(...(await target.rounds(count)));
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  const sorted = { untraced: took.untraced.sort((a, b) => a - b), traced: took.traced.sort((a, b) => a - b) };
  const held_words = `${(held / 1024).toFixed(1)} GiB of 4 KiB pages in memory, ${MAPPED_MIB / 1024} GiB mapped`;
  const rows = QUANTILES.flatMap(([name, share]) =>
    (["untraced", "traced"] as const).map((arm) =>
      aside(`mmap, touch, munmap ${arm}: ${name}`, quantile(sorted[arm], share), "us", `${sorted[arm].length} rounds`),
    ),
  );
  const added = quantile(sorted.traced, 0.999) - quantile(sorted.untraced, 0.999);
  return [atMost("stall: p99.9 traced less untraced", added, "us", TARGET_US, held_words), ...rows];
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchStall({ blocks: 2, quick: false }), null, 2)}\n`);
}
