import { beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import type { ClockSummary } from "../../../../src/collect/ebpf/clock/clock-summary.ts";
import { createEbpfCollector } from "../../../../src/collect/ebpf/ebpf.ts";
import type { Batch } from "../../../../src/columnar/batch.ts";
import { createProcessTree } from "../../../../src/target/process-tree.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { rowsOf } from "../../../fixtures/perf-rows.ts";
import { registersFree } from "../../../fixtures/registers-free.ts";
import { holdTarget } from "../held-target.ts";

setDefaultTimeout(120_000);
beforeEach(registersFree);

const BLOCK_BYTES = 64 * 1024;
const BLOCKS = 256;
const MOST_HOT_BYTES = (BLOCKS * BLOCK_BYTES) / 32;

/** The 16 MiB of the program's blocks: the kernel puts each below the one before it. */
function blocksOf(pid: number): { begin: number; end: number } {
  for (const line of readFileSync(`/proc/${pid}/maps`, "latin1").split("\n")) {
    const [low = 0, high = 0] = (line.split(" ")[0] ?? "").split("-").map((part) => Number.parseInt(part, 16));
    if (high - low === BLOCKS * BLOCK_BYTES) return { begin: low, end: high };
  }
  throw new Error("the program has not mapped its blocks");
}

// At -O2 the address of each access is put into a register just before it, which the access overwrites.
test.each(["-O1", "-O2"])(
  "a tile of 128 KiB that is read over and over is drawn from separately, though it is a 128th of its mapping (%s)",
  async (level) => {
    const folder = mkdtempSync("/dev/shm/mrm-tiles-");
    await using held = holdTarget([
      compileProgram("shapes", ["-static", level]),
      "tiles",
      "100",
      "1",
      join(folder, "log"),
    ]);
    const collector = createEbpfCollector(
      {
        budgetPct: 4,
        watchRegisters: 4,
        sources: ["watch"],
        seed: 3,
        clockHz: 100,
        engineObjects: [],
        parts: ["accesses"],
        tree: createProcessTree(),
      },
      { pmus: [], kernelRelease: release(), arch: process.arch },
    );
    const batches: Batch[] = [];
    try {
      await collector.start(held.target);
      held.release();
      const until = performance.now() + 90_000;
      const watched = () => batches.filter(({ table }) => table === "watch").flatMap(rowsOf);
      const hot = () => watched().filter(({ stratum }) => stratum === "unknown/anon/sampled");
      while (hot().length < 6 && performance.now() < until) {
        batches.push(...structuredClone(collector.batches()));
        collector.beforeRest?.();
        await Bun.sleep(20);
      }
      const { begin, end } = blocksOf(held.target.pid);
      // A 32nd of the mapping at most, which the kernel may have put across two blocks of a 64th; the tile is in it.
      const near = end - MOST_HOT_BYTES;
      for (const { addr, stratum_bytes } of hot()) {
        expect(Number(addr)).toBeGreaterThanOrEqual(near);
        expect(Number(addr)).toBeLessThan(end);
        expect(Number(stratum_bytes)).toBeLessThanOrEqual(MOST_HOT_BYTES);
      }
      expect(hot().filter(({ addr }) => Number(addr) >= end - 2 * BLOCK_BYTES).length).toBeGreaterThan(0);
      expect(near).toBeGreaterThan(begin);
      expect(watched().filter(({ stratum }) => stratum === "unknown/anon").length).toBeGreaterThan(hot().length);
      const clock = collector.details?.().clock as ClockSummary;
      expect(clock).toMatchObject({ hz: { wanted: 50 }, rows: 0 });
      // A tenth of what the run may cost, at most.
      expect(clock.budget_pct).toBeLessThanOrEqual(0.4 + 1e-9);
      expect(clock.located).toBeGreaterThan(0);
      const { batches: last, ledger } = await collector.stop();
      const accesses = [...batches, ...last].filter(({ table }) => table === "access").flatMap(rowsOf);
      expect(new Set(accesses.map(({ source }) => source))).toEqual(new Set(["watch"]));
      expect(ledger.filter(({ source }) => source === "clock")).toEqual([]);
    } finally {
      await collector.stop();
      rmSync(folder, { recursive: true });
    }
  },
);
