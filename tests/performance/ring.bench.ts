/** From the rings to Bun: producers on two CPUs at a steady rate, one reader that polls as a run does. */
import { type BlockRows, blockReader } from "../../src/columnar/blocks.ts";
import { affinityCpus, monotonicNs, threadCpuNs } from "../../src/kernel/libc.ts";
import { openBpfObject } from "../../src/kernel/open-bpf-object.ts";
import { openRing } from "../../src/kernel/ring.ts";
import { type RingLayout, ringLayout } from "../../src/schema/c-header.ts";
import { aside, atLeast, atMost, type BenchOptions, type BenchRow, median } from "./bench-row.ts";
import type { ProducerDone, ProducerJob } from "./ring-producer.ts";

const POLL_MS = 5;
const PRODUCERS = 2;
const TARGET_ROWS_PER_S = 5e6;
const TARGET_READER_NS = 4;
/** Offered one after the other until nothing is lost; somewhat more than the target, as bursts that come late are left out. */
const RATES = [5.1e6, 4e6, 3e6, 2e6, 1e6] as const;

interface Pass {
  readonly offeredRowsPerS: number;
  readonly producedRowsPerS: number;
  readonly attempts: number;
  readonly lost: number;
  readonly read: number;
  /** CPU time of the reading thread inside drain, per row, in the middle one of the polls that copied blocks as they are. */
  readonly copyNs: number;
  /** The same of those in between, which made columns of them. */
  readonly columnsNs: number;
  /** CPU time of the reading thread, sleeping and waking included, per row. */
  readonly threadNs: number;
  readonly longestPollMs: number;
}

/** Copies every piece as it lies; gives the rows. */
function blockCopier({ blockBytes }: RingLayout): (rows: BlockRows) => number {
  let arena = new Uint8Array(0);
  return ({ bytes, pieces, begin_bytes, from, to }) => {
    if (arena.length < pieces * blockBytes) arena = new Uint8Array(2 * pieces * blockBytes);
    let rows = 0;
    for (let i = 0; i < pieces; i++) {
      const begin = begin_bytes[i] as number;
      arena.set(bytes.subarray(begin, begin + blockBytes), i * blockBytes);
      rows += (to[i] as number) - (from[i] as number);
    }
    return rows;
  };
}

/** Seconds of production and reading at one rate. */
async function pass(rowsPerSecond: number, seconds: number): Promise<Pass> {
  const cpus = affinityCpus(0);
  using object = await openBpfObject("bench", { perCpu: ["bench_ring"] });
  const layout = ringLayout("fault");
  using ring = openRing(object.map("bench_ring"), layout);
  const programFd = object.program("bench_rows").fd;
  const toColumns = blockReader("fault");
  const producers = Array.from({ length: PRODUCERS }, (_, i) => {
    const worker = new Worker(new URL("./ring-producer.ts", import.meta.url).href, { smol: true });
    const job: ProducerJob = {
      cpu: cpus[i % cpus.length] ?? 0,
      programFd,
      rowsPerSecond: rowsPerSecond / PRODUCERS,
      seconds,
    };
    const done = new Promise<ProducerDone>((resolve, reject) => {
      worker.onmessage = (message: MessageEvent<ProducerDone>) => resolve(message.data);
      worker.onerror = (event) => reject(new Error(event.message));
    });
    worker.postMessage(job);
    return { worker, done };
  });
  let finished: ProducerDone[] | null = null;
  const all = Promise.all(producers.map(({ done }) => done));
  all.then((done) => {
    finished = done;
  });
  let [read, longestNs] = [0, 0n];
  const ways = [
    { perRow: [] as number[], take: blockCopier(layout) },
    { perRow: [] as number[], take: (rows: BlockRows) => toColumns(rows).rows },
  ] as const;
  let poll = 0;
  const drain = (): void => {
    const { perRow, take } = ways[poll++ % 2 === 0 ? 0 : 1];
    const before = threadCpuNs();
    const rows = ring.drain(take);
    const spent = threadCpuNs() - before;
    read += rows;
    if (rows > 0) perRow.push(spent / rows);
  };
  const threadBegin = threadCpuNs();
  let last = monotonicNs();
  while (finished === null) {
    drain();
    const now = monotonicNs();
    if (now - last > longestNs) longestNs = now - last;
    last = now;
    // A producer that failed ends the pass with its error.
    await Promise.race([Bun.sleep(POLL_MS), all]);
  }
  const done = await all;
  drain();
  const threadNs = threadCpuNs() - threadBegin;
  for (const { worker } of producers) worker.terminate();
  const ledger = ring.ledger({ stream: "fault", source: "fault", stage: "ring", way: null });
  return {
    offeredRowsPerS: rowsPerSecond,
    producedRowsPerS: done.reduce((sum, { rows, seconds: took }) => sum + rows / took, 0),
    attempts: ledger.reduce((sum, row) => sum + row.seen, 0),
    lost: ledger.reduce((sum, row) => sum + row.dropped, 0),
    read,
    copyNs: median(ways[0].perRow),
    columnsNs: median(ways[1].perRow),
    threadNs: threadNs / read,
    longestPollMs: Number(longestNs) / 1e6,
  };
}

/** The target rate, then lower ones until nothing is lost; 5 s each. */
export async function benchRing({ quick }: BenchOptions): Promise<BenchRow[]> {
  const passes: Pass[] = [];
  for (const rate of RATES) {
    const one = await pass(rate, quick ? 1 : 5);
    if (one.read + one.lost !== one.attempts) {
      throw new Error(`${one.attempts} rows were tried, ${one.read} read and ${one.lost} refused: the account is open`);
    }
    passes.push(one);
    if (one.lost === 0) break;
  }
  const first = passes[0];
  const lossless = passes.find((one) => one.lost === 0);
  if (first === undefined) throw new Error("no rate was tried");
  const shared =
    affinityCpus(0).length <= PRODUCERS ? "producers and reader share the CPUs" : "the reader has a CPU free";
  return [
    atLeast(
      "ring to Bun: rate at which nothing was lost",
      lossless?.producedRowsPerS ?? 0,
      "rows/s",
      TARGET_ROWS_PER_S,
      `offered ${(lossless?.offeredRowsPerS ?? 0) / 1e6} M/s by ${PRODUCERS} producers; ${shared}`,
    ),
    atMost(
      "ring to Bun: reader, CPU per row",
      first.copyNs,
      "ns",
      TARGET_READER_NS,
      `median of the polls, which copied whole blocks; ${first.columnsNs.toFixed(2)} ns for columns instead, in every second poll`,
    ),
    aside("ring to Bun: reading thread, polls included", first.threadNs, "ns"),
    aside(
      `ring to Bun: lost when ${first.offeredRowsPerS / 1e6} M/s were offered`,
      first.lost,
      "rows",
      `of ${first.attempts}; longest time between polls ${first.longestPollMs.toFixed(1)} ms`,
    ),
  ];
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchRing({ blocks: 0, quick: false }), null, 2)}\n`);
}
