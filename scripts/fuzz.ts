#!/usr/bin/env bun
/**
 * Hostile bytes for the readers of recorded files: `bun run fuzz [--cases N] [--seed N] [--jobs N] [--only NAME]`. Ends at the
 * first case that crashes, hangs, takes memory without bound or answers with anything but rows or one clear error, and names its seed.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { fuzzCase, fuzzTargets } from "../tests/fixtures/fuzz-targets.ts";

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "10000000" },
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: String(availableParallelism()) },
    /** The cases of one reader alone, such as `perf script`: some take a thousand times as long as others. */
    only: { type: "string" },
    /** Every so many seeds, by a child of this program. */
    stride: { type: "string" },
  },
});
const cases = Number(values.cases);
const first = Number(values.seed);
const jobs = Number(values.jobs);
/** CPU time of a case above which it hangs, and memory of a process that ran many. */
const MOST_CPU_MS = 2000;
const MOST_BYTES = 1e9;
const LOOK_EVERY = 1024;
const REPORT_EVERY = 250_000;

type Counts = Record<string, { cases: number; refused: number }>;

function fail(seed: number, what: string): never {
  process.stderr.write(`seed ${seed}: ${what}\n`);
  process.exit(1);
}

async function runHere(stride: number): Promise<Counts> {
  using targets = await fuzzTargets();
  const list = targets.list.filter(({ name }) => values.only === undefined || name === values.only);
  if (list.length === 0)
    throw new Error(
      `no reader is called ${values.only}: ${[...new Set(targets.list.map(({ name }) => name))].join(", ")}`,
    );
  const counts: Counts = {};
  for (let i = 0; i < cases; i++) {
    const seed = first + i * stride;
    const wall = performance.now();
    const cpu = process.cpuUsage();
    const { name, refused, wrong } = await fuzzCase(list, seed);
    if (wrong !== null) fail(seed, `${name}: ${wrong}`);
    if (performance.now() - wall > MOST_CPU_MS) {
      const used = process.cpuUsage(cpu);
      const ms = (used.user + used.system) / 1e3;
      if (ms > MOST_CPU_MS) fail(seed, `${name}: ${ms.toFixed(0)} ms of CPU`);
    }
    const count = counts[name] ?? { cases: 0, refused: 0 };
    counts[name] = { cases: count.cases + 1, refused: count.refused + (refused ? 1 : 0) };
    if (i % LOOK_EVERY === 0 && process.memoryUsage.rss() > MOST_BYTES)
      fail(seed, `${name}: more than ${MOST_BYTES} bytes`);
    if ((i + 1) % REPORT_EVERY === 0) process.stderr.write(`${i + 1} cases\n`);
  }
  return counts;
}

/** One process per job; a job that fails ends the others. */
async function runAll(): Promise<Counts> {
  const children = Array.from({ length: jobs }, (_, job) => {
    const share = Math.floor(cases / jobs) + (job < cases % jobs ? 1 : 0);
    const words = ["--cases", String(share), "--seed", String(first + job), "--stride", String(jobs)];
    if (values.only !== undefined) words.push("--only", values.only);
    return Bun.spawn([process.execPath, import.meta.path, ...words], { stdout: "pipe", stderr: "inherit" });
  });
  const total: Counts = {};
  const ended = children.map(async (child) => {
    const text = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) {
      for (const other of children) other.kill();
      process.exit(1);
    }
    for (const [name, { cases: n, refused }] of Object.entries(JSON.parse(text) as Counts)) {
      const known = total[name] ?? { cases: 0, refused: 0 };
      total[name] = { cases: known.cases + n, refused: known.refused + refused };
    }
  });
  await Promise.all(ended);
  return total;
}

if (values.stride !== undefined) {
  process.stdout.write(JSON.stringify(await runHere(Number(values.stride))));
} else {
  const begin = performance.now();
  const counts = await runAll();
  const seconds = (performance.now() - begin) / 1000;
  for (const [name, { cases: n, refused }] of Object.entries(counts)) {
    process.stdout.write(`${name.padEnd(12)} ${n} cases, ${refused} refused\n`);
  }
  const rate = Math.round(cases / seconds);
  process.stdout.write(
    `${cases} cases${values.only === undefined ? "" : ` of ${values.only}`} from seed ${first} in ${seconds.toFixed(1)} s, ${rate} per second in ${jobs} processes: none failed\n`,
  );
}
