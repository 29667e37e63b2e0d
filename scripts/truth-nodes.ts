#!/usr/bin/env bun
/**
 * What `mrm-trace run` says of activations and weights of real llama.cpp, with their times, held against when each node of each
 * graph began and ended: `bun scripts/truth-nodes.ts [--simulated] [--cases TEXT] [--seconds N] [--runs N] [--first N]`. The
 * engine's callback is asked before and after each node, in the very run that is traced, with one thread or two. It needs
 * root, cc and git, and some 25 s for a run.
 *
 * With --simulated nobody traces it: the times of one run are watched by simulated registers, with so many seeds as --runs
 * says. That takes some 15 s and half a second for a seed, and needs no root.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { passGapNs } from "../src/analyse/watched/passes.ts";
import { openRun } from "../src/api/open-run.ts";
import { demoCacheDir } from "../src/demo/cache.ts";
import { ensureDemoEngine } from "../src/demo/install.ts";
import type { ModelType } from "../src/demo/model/weight-type.ts";
import { writeModel } from "../src/demo/model/write-model.ts";
import { type Answer, answerOf, type CoverageRow, coverageOf, summary } from "../src/simulate/coverage.ts";
import { type Cycles, compileCycles } from "../tests/fixtures/llama-cycles.ts";
import { outputOf } from "../tests/fixtures/output-of.ts";
import { accuracyTable } from "../tests/validity/laboratory/accuracy-table.ts";
import { NOT_BY_NODES, nodeLogOf, nodeWorld, truthsOfNodes } from "../tests/validity/laboratory/node-log.ts";
import { tracedRun } from "../tests/validity/laboratory/traced-program.ts";

interface Case {
  readonly name: string;
  readonly params: "1m" | "15m";
  readonly type: ModelType;
  /** As llama-cycles.c has it. */
  readonly form: string;
  readonly sequences: number;
}

const CASES: readonly Case[] = [
  { name: "24 M f16, flash attention", params: "15m", type: "f16", form: "flash,1,keep", sequences: 1 },
  { name: "24 M q8_0, flash attention, 2 threads", params: "15m", type: "q8_0", form: "flash,1,keep,2", sequences: 1 },
  { name: "24 M q8_0, 4 sequences", params: "15m", type: "q8_0", form: "plain,4,keep", sequences: 4 },
  { name: "0.4 M f16, flash attention", params: "1m", type: "f16", form: "flash,1,keep", sequences: 1 },
  { name: "0.4 M q8_0, flash attention, 2 threads", params: "1m", type: "q8_0", form: "flash,1,keep,2", sequences: 1 },
  { name: "0.4 M q8_0, 4 sequences", params: "1m", type: "q8_0", form: "plain,4,keep", sequences: 4 },
];
const CLASSES = ["activation", "weight"] as const;
const PROGRAMS = "decoding, six ways";

const { values } = parseArgs({
  options: {
    simulated: { type: "boolean", default: false },
    cases: { type: "string", default: "" },
    seconds: { type: "string", default: "8" },
    runs: { type: "string", default: "1" },
    first: { type: "string", default: "1" },
  },
});
const folder = mkdtempSync(join(tmpdir(), "mrm-truth-nodes-"));
/** Shared memory, so that the program's own log is no anonymous memory. */
const shared = mkdtempSync("/dev/shm/mrm-truth-");

const log = join(shared, "log");

async function commandOf({ driver, libraries }: Cycles, { params, type, form }: Case): Promise<string[]> {
  const model = join(folder, `${params}-${type}.gguf`);
  if (!existsSync(model)) await writeModel({ params, type, seed: 1 }, model);
  return [driver, libraries, model, form, values.seconds, log];
}

const nameOf = (metric: string, type: string): string => `${metric} of ${type}`;

/** What simulated registers say of one run with so many seeds. */
async function simulated(cycles: Cycles, one: Case): Promise<CoverageRow[]> {
  await outputOf(await commandOf(cycles, one));
  const world = nodeWorld(nodeLogOf(readFileSync(log)), one.sequences);
  const [first, seeds] = [Number(values.first), Number(values.runs)];
  return coverageOf({ name: one.name, make: () => world }, { seeds, first })
    .filter(({ region_type, metric }) => CLASSES.some((type) => type === region_type) && !NOT_BY_NODES.has(metric))
    .map((row) => ({ ...row, metric: nameOf(row.metric, row.region_type) }));
}

/** The figures of one run by their class, phase and name, each beside what is true. */
async function answersOf(cycles: Cycles, one: Case, seed: number) {
  const traced = tracedRun(join(folder, one.name), await commandOf(cycles, one), seed);
  await outputOf(traced.command);
  using run = openRun(traced.runDir() ?? "");
  const nodes = nodeLogOf(readFileSync(log));
  const gap_ns = passGapNs(run.metadata.trap_cost_ns);
  return CLASSES.flatMap((type) => {
    const truths = truthsOfNodes(nodes, type, one.sequences, gap_ns);
    return run
      .metrics()
      .filter((row) => row.source === "watch" && row.region_type === type && row.phase === "generation")
      .flatMap((row) => {
        const truth = truths[row.step === "decode" ? "decode" : "generation"];
        if (row.step === "prefill" || !truth.has(row.metric)) return [];
        if (row.metric === "write_once_ratio" && row.grain_bytes !== 8) return [];
        return [{ name: nameOf(row.metric, type), ...answerOf(row, truth.get(row.metric) ?? null) }];
      });
  });
}

try {
  const cycles = await compileCycles(await ensureDemoEngine(demoCacheDir()), folder);
  const answers: (Answer & { readonly name: string })[] = [];
  const rows: CoverageRow[] = [];
  for (const one of CASES.filter(({ name }) => name.includes(values.cases))) {
    if (values.simulated) {
      rows.push(...(await simulated(cycles, one)));
      continue;
    }
    const first = Number(values.first);
    for (let seed = first; seed < first + Number(values.runs); seed++) {
      answers.push(...(await answersOf(cycles, one, seed)));
      process.stderr.write(`${one.name} ${seed}\n`);
    }
  }
  // One program alone has too few runs to tell how often intervals hold.
  for (const same of Map.groupBy(answers, ({ name, row }) => `${name}\n${row.step}`).values()) {
    rows.push(...summary(PROGRAMS, same).map((row) => ({ ...row, metric: same[0]?.name ?? row.metric })));
  }
  process.stdout.write(`${accuracyTable(rows)}\n`);
} finally {
  rmSync(folder, { recursive: true });
  rmSync(shared, { recursive: true });
}
