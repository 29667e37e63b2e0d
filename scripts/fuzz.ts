#!/usr/bin/env bun
/** Hostile bytes for the readers of recorded files: `bun run fuzz [--cases N] [--seed N]`; prints the seed of a failure. */
import { parseArgs } from "node:util";
import { MrmTraceError } from "../src/errors.ts";
import { hostileCaptures, memraySeeds } from "../tests/fixtures/memray-fuzz.ts";
import { hostileCase, seeds } from "../tests/fixtures/perf-fuzz.ts";

const { values } = parseArgs({
  options: { cases: { type: "string", default: "100000" }, seed: { type: "string", default: "1" } },
});
const cases = Number(values.cases);
const first = Number(values.seed);
/** A case that takes longer is a hang. */
const SLOWEST_MS = 2000;
const REPORT_EVERY = 50_000;

const corpus = await seeds();
const captureCorpus = memraySeeds();
using captures = hostileCaptures();
let refused = 0;
let rows = 0;
const begin = performance.now();
for (let i = 0; i < cases; i++) {
  const seed = first + i;
  const started = performance.now();
  // A capture of memray needs larger buffers than a recording of perf: fewer of them fit into a second.
  const result = seed % 16 === 0 ? captures.read(captureCorpus, seed) : await hostileCase(corpus, seed);
  const took = performance.now() - started;
  if (result.error !== null && !(result.error instanceof MrmTraceError)) {
    process.stderr.write(
      `seed ${seed}: ${result.error instanceof Error ? result.error.stack : String(result.error)}\n`,
    );
    process.exit(1);
  }
  if (took > SLOWEST_MS || result.rows > result.samples) {
    process.stderr.write(`seed ${seed}: ${took.toFixed(0)} ms, ${result.rows} rows of ${result.samples} samples\n`);
    process.exit(1);
  }
  refused += result.error === null ? 0 : 1;
  rows += result.rows;
  if ((i + 1) % REPORT_EVERY === 0) process.stderr.write(`${i + 1} cases\n`);
}
const seconds = (performance.now() - begin) / 1000;
process.stdout.write(
  `${cases} cases from seed ${first} in ${seconds.toFixed(1)} s: ${refused} refused, ${rows} rows read, none failed\n`,
);
