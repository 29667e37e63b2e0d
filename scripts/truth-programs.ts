#!/usr/bin/env bun
/**
 * What `mrm-trace run` says of real programs that write down what they do: `bun scripts/truth-programs.ts [--shapes A,B]
 * [--repeats N] [--seconds N] [--keep] [--write]`. Each program is traced as a user would, with real registers; for each figure it
 * prints the truth, the estimate, its interval, and whether that holds the truth. With --write the table of
 * docs/accuracy-programs.md is written anew. Needs root, and two minutes for a program.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { MetricRow } from "../src/analyse/figures/metric-row.ts";
import { passGapNs } from "../src/analyse/watched/passes.ts";
import { type OpenedRun, openRun } from "../src/api/open-run.ts";
import { answerOf } from "../src/simulate/coverage.ts";
import { truthOf } from "../src/simulate/reference.ts";
import type { Truth } from "../src/simulate/true-quantiles.ts";
import type { WorldStratum } from "../src/simulate/world.ts";
import { compileProgram } from "../tests/fixtures/compile.ts";
import { loggedStratum, SHAPES, type Shape } from "../tests/validity/laboratory/program.ts";
import { type ProgramRow, repeatedTable, writeTable } from "../tests/validity/laboratory/program-table.ts";

const { values } = parseArgs({
  options: {
    shapes: { type: "string", default: Object.keys(SHAPES).join(",") },
    repeats: { type: "string", default: "4" },
    seconds: { type: "string", default: "20" },
    keep: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
/** Figures that count each byte at each moment. */
const PER_BYTE = /^(next_use|still_needed)_/;
const CLI = join(import.meta.dir, "..", "src", "cli.ts");
/** Shared memory, so that the program's own log is no anonymous memory. */
const folder = mkdtempSync("/dev/shm/mrm-truth-");

const WORD_BYTES = 8;

/**
 * Memory of the same class in which no block lies, such as static memory of the C library: nothing touches it. It is 8 KiB
 * beside 64 KiB of blocks, which moves what is true of nine bytes in ten.
 */
function besideBlocks(run: OpenedRun, blocks: WorldStratum): WorldStratum {
  const found: bigint[] = [];
  for (const { stratum, stratum_bytes } of run.table("watch")) {
    if (stratum === blocks.stratum) found.push(stratum_bytes);
  }
  const mean = Number(found.reduce((sum, bytes) => sum + bytes, 0n)) / Math.max(1, found.length);
  const words = mean / WORD_BYTES - blocks.words.length * (blocks.repeats ?? 1);
  const [first] = blocks.words;
  const untouched = { ...first, time_ns: new Float64Array(0), op: new Uint8Array(0) };
  return { ...blocks, words: [untouched], repeats: Math.max(0, words) };
}

/** One run of one program: its figures beside the truth. */
async function traced(shape: Shape, seed: number): Promise<{ rows: MetricRow[]; truth: Map<string, Truth | null> }> {
  const log = join(folder, "log");
  const output = mkdtempSync(join(tmpdir(), "mrm-truth-"));
  const program = [compileProgram("shapes", ["-static"]), shape, values.seconds, String(seed), log];
  const args = ["run", "--output", output, "--run-id", shape, "--seed", String(seed), "--", ...program];
  const child = Bun.spawn([process.execPath, CLI, ...args], { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const said = await new Response(child.stderr).text();
  const code = await child.exited;
  if (code !== 0) throw new Error(`mrm-trace run of ${shape} ended with ${code}:\n${said}`);
  using run = openRun(join(output, "shapes", shape));
  const rows = run
    .metrics()
    .filter((row) => row.source === "watch" && row.scope === "class" && row.mapping_kind === "anon");
  const gap_ns = passGapNs(run.metadata.trap_cost_ns);
  const started = BigInt(run.metadata.timing.started_ns);
  const blocks = loggedStratum(readFileSync(log), started);
  // Blocks that come and go are not all there at once.
  const strata = shape === "blocks" ? [blocks] : [blocks, besideBlocks(run, blocks)];
  if (values.keep) process.stderr.write(`${output}\n`);
  else rmSync(output, { recursive: true });
  return { rows, truth: truthOf(strata, rows[0]?.window_ns ?? 0, gap_ns) };
}

const answers: ProgramRow[] = [];
try {
  for (const shape of values.shapes.split(",") as Shape[]) {
    for (let seed = 1; seed <= Number(values.repeats); seed++) {
      const { rows, truth } = await traced(shape, seed);
      for (const row of rows) {
        // What is true at a random moment needs to know when each block was there, which traces do not say.
        if (shape === "blocks" && PER_BYTE.test(row.metric)) continue;
        if (!truth.has(row.metric) || (row.metric === "write_once_ratio" && row.grain_bytes !== 8)) continue;
        answers.push({ program: SHAPES[shape], ...answerOf(row, truth.get(row.metric) ?? null) });
      }
      process.stderr.write(`${shape} ${seed}\n`);
    }
  }
  const table = repeatedTable(answers);
  process.stdout.write(`${table}\n`);
  if (values.write) writeTable("shapes", table);
} finally {
  rmSync(folder, { recursive: true });
}
