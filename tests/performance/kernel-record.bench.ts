/** What a row costs in the kernel beyond its timestamp and ids: two BPF loops that differ in the row alone. */

import { affinityCpus, monotonicNs } from "../../src/kernel/libc.ts";
import { openBpfObject } from "../../src/kernel/open-bpf-object.ts";
import { openRing } from "../../src/kernel/ring.ts";
import { ringLayout } from "../../src/schema/c-header.ts";
import { aside, atMost, type BenchOptions, type BenchRow, median } from "./bench-row.ts";
import { pinThread, programRunner } from "./program-run.ts";

/** The ring of faults, and that of sampled accesses as small as a run has it; each takes so many rows and refuses none. */
const KINDS = [
  { what: "an access", ring: "access_ring", stream: "sample", program: "bench_accesses", rows: 6000, repeats: 10 },
  { what: "a fault", ring: "bench_ring", stream: "fault", program: "bench_rows", rows: 60_000, repeats: 1 },
] as const;
const TARGET_NS = 5;

type Kind = (typeof KINDS)[number];

interface Timed {
  readonly clockNs: number;
  readonly rowNs: number;
}

/** Rounds of clock, row, row, clock; the ring is emptied between two, outside the timed part. The middle one of each. */
async function timeRows(kind: Kind, rounds: number): Promise<Timed> {
  using object = await openBpfObject("bench", { perCpu: KINDS.map(({ ring }) => ring) });
  using ring = openRing(object.map(kind.ring), ringLayout(kind.stream));
  const clock = programRunner(object.program("bench_clock").fd);
  const row = programRunner(object.program(kind.program).fd);
  const timed = (run: (rows: number) => void): number => {
    let spent = 0;
    for (let i = 0; i < kind.repeats; i++) {
      const begin = monotonicNs();
      run(kind.rows);
      spent += Number(monotonicNs() - begin);
      ring.drain(() => {});
    }
    return spent / (kind.rows * kind.repeats);
  };
  for (let i = 0; i < 4; i++) {
    timed(clock);
    timed(row);
  }
  const clocks: number[] = [];
  const differences: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const [first, second, third, fourth] = [timed(clock), timed(row), timed(row), timed(clock)];
    clocks.push((first + fourth) / 2);
    differences.push((second + third - first - fourth) / 2);
  }
  const refused = ring
    .ledger({ stream: "fault", source: "fault", stage: "ring", way: null })
    .reduce((sum, of) => sum + of.dropped, 0);
  if (refused > 0) throw new Error(`${refused} rows were refused: the figure would not be that of a row`);
  return { clockNs: median(clocks), rowNs: median(differences) };
}

/**
 * Where a ring's pages lie in memory is another each time, and changes a row by a nanosecond and more: the middle one of
 * several rings, which take turns. Takes some ten seconds.
 */
export async function benchKernelRecord({ quick }: BenchOptions): Promise<BenchRow[]> {
  pinThread(affinityCpus(0)[0] ?? 0);
  const seen = KINDS.map((): Timed[] => []);
  for (let ring = 0; ring < (quick ? 3 : 15); ring++) {
    for (const [i, kind] of KINDS.entries()) seen[i]?.push(await timeRows(kind, quick ? 5 : 15));
  }
  const rows = KINDS.map(({ what }, i) => {
    const sorted = (seen[i] ?? []).map(({ rowNs }) => rowNs).sort((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(1);
    return atMost(
      `kernel: ${what} beyond its timestamp and ids`,
      median(sorted),
      "ns",
      TARGET_NS,
      `quartiles ${at(0.25)} to ${at(0.75)} of ${sorted.length} rings`,
    );
  });
  return [...rows, aside("kernel: loop, timestamp and ids", median(seen.flat().map(({ clockNs }) => clockNs)), "ns")];
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchKernelRecord({ blocks: 0, quick: false }), null, 2)}\n`);
}
