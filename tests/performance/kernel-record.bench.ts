/** What a row costs in the kernel beyond its timestamp and ids: two BPF loops that differ in the row alone. */
import { openBpfObject } from "../../src/kernel/bpf-object.ts";
import { affinityCpus, monotonicNs } from "../../src/kernel/libc.ts";
import { openRing } from "../../src/kernel/ring.ts";
import { ringLayout } from "../../src/schema/c-header.ts";
import { aside, atMost, type BenchOptions, type BenchRow, median } from "./bench-row.ts";
import { pinThread, programRunner } from "./program-run.ts";

/** Fewer than a ring holds, so that no row is refused. */
const ROWS = 60_000;
const TARGET_NS = 5;

/** Rounds of clock, row, row, clock; the ring is emptied between two, outside the timed part. Takes a second or two. */
export async function benchKernelRecord({ quick }: BenchOptions): Promise<BenchRow[]> {
  using object = await openBpfObject("bench", { perCpu: ["bench_ctl", "bench_ring"] });
  using ring = openRing(object.map("bench_ctl"), object.map("bench_ring"), ringLayout("fault"));
  const clock = programRunner(object.program("bench_clock").fd);
  const rows = programRunner(object.program("bench_rows").fd);
  pinThread(affinityCpus(0)[0] ?? 0);
  const timed = (run: (rows: number) => void): number => {
    const begin = monotonicNs();
    run(ROWS);
    const spent = Number(monotonicNs() - begin) / ROWS;
    ring.drain(() => {});
    return spent;
  };
  for (let i = 0; i < 4; i++) {
    timed(clock);
    timed(rows);
  }
  const clocks: number[] = [];
  const differences: number[] = [];
  for (let round = 0; round < (quick ? 15 : 101); round++) {
    const [first, second, third, fourth] = [timed(clock), timed(rows), timed(rows), timed(clock)];
    clocks.push((first + fourth) / 2);
    differences.push((second + third - first - fourth) / 2);
  }
  const refused = ring.ledger("bench").reduce((sum, row) => sum + row.dropped, 0);
  if (refused > 0) throw new Error(`${refused} rows were refused: the figure would not be that of a row`);
  const sorted = differences.sort((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(1);
  return [
    atMost(
      "kernel: a row beyond its timestamp and ids",
      median(differences),
      "ns",
      TARGET_NS,
      `quartiles ${at(0.25)} to ${at(0.75)} of ${sorted.length} rounds`,
    ),
    aside("kernel: loop, timestamp and ids", median(clocks), "ns"),
  ];
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchKernelRecord({ blocks: 0, quick: false }), null, 2)}\n`);
}
