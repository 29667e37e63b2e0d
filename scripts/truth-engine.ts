#!/usr/bin/env bun
/**
 * What `mrm-trace run` says of real llama.cpp, held against every access that it makes:
 * `bun scripts/truth-engine.ts [--cases TEXT] [--seconds N] [--runs N] [--touches FOLDER] [--missed FOLDER] [--record] [--write]`. A program that decodes in
 * cycles that are all alike runs one of them under a tool of valgrind that writes every load and store of tensors, and then for some
 * time under the tracer as a user would. What was counted in the one cycle is kept in FOLDER, and not asked for again; with --record
 * that is all. A run of which an answer misses is kept in the folder of --missed, to be asked why. With --write the table of docs/accuracy-programs.md is written anew. It needs root, valgrind,
 * cc and git. To record a case takes some 5 s, with two threads or 15 million weights a minute.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { openRun } from "../src/api/open-run.ts";
import { demoCacheDir } from "../src/demo/cache.ts";
import { ensureDemoEngine } from "../src/demo/install.ts";
import type { ModelType } from "../src/demo/model/weight-type.ts";
import { type ModelSpec, writeModel } from "../src/demo/model/write-model.ts";
import { answerOf } from "../src/simulate/coverage.ts";
import { compileProgram } from "../tests/fixtures/compile.ts";
import { type Cycles, compileCycles } from "../tests/fixtures/llama-cycles.ts";
import { outputOf } from "../tests/fixtures/output-of.ts";
import { readAccesses } from "../tests/fixtures/valgrind-tool.ts";
import { isGiven, type ProgramRow, repeatedTable, writeTable } from "../tests/validity/laboratory/program-table.ts";
import { touchesOf, truthOfTouches } from "../tests/validity/laboratory/touches.ts";

/** The second has as many weights as the name says, though with a small vocabulary; the third is that of the demo. */
const MODELS = {
  "1m": { params: "1m" },
  "15m": { params: "15m", apart: { layers: 15, vocabulary: 512 } },
  "24m": { params: "15m" },
} as const satisfies Record<string, Pick<ModelSpec, "params" | "apart">>;

interface Case {
  readonly name: string;
  readonly type: ModelType;
  readonly model?: keyof typeof MODELS;
  /** Attention, sequences, what becomes of the cache, and threads, as llama-cycles.c has it. */
  readonly form: string;
}

const CASES: readonly Case[] = [
  { name: "f16, flash attention", type: "f16", form: "flash,1,keep" },
  { name: "f16", type: "f16", form: "plain,1,keep" },
  { name: "q8_0, flash attention", type: "q8_0", form: "flash,1,keep" },
  { name: "q8_0", type: "q8_0", form: "plain,1,keep" },
  { name: "q4_0 repacked, flash attention", type: "q4_0", form: "flash,1,keep" },
  { name: "q4_0 repacked", type: "q4_0", form: "plain,1,keep" },
  { name: "4 sequences, flash attention", type: "q4_0", form: "flash,4,keep" },
  { name: "4 sequences", type: "q4_0", form: "plain,4,keep" },
  { name: "rows taken back", type: "q4_0", form: "flash,1,trim" },
  { name: "context shifts", type: "q4_0", form: "flash,1,shift" },
  { name: "f16, flash attention, 2 threads", type: "f16", form: "flash,1,keep,2" },
  { name: "q8_0, flash attention, 2 threads", type: "q8_0", form: "flash,1,keep,2" },
  { name: "q4_0 repacked, 2 threads", type: "q4_0", form: "plain,1,keep,2" },
  { name: "4 sequences, 2 threads", type: "q4_0", form: "plain,4,keep,2" },
  { name: "15 M weights, f16, flash attention", type: "f16", form: "flash,1,keep", model: "15m" },
  { name: "15 M weights, f16", type: "f16", form: "plain,1,keep", model: "15m" },
  { name: "15 M weights, q8_0, flash attention", type: "q8_0", form: "flash,1,keep", model: "15m" },
  { name: "15 M weights, q8_0", type: "q8_0", form: "plain,1,keep", model: "15m" },
  { name: "15 M weights, q4_0 repacked, flash attention", type: "q4_0", form: "flash,1,keep", model: "15m" },
  { name: "15 M weights, q4_0 repacked", type: "q4_0", form: "plain,1,keep", model: "15m" },
  { name: "15 M weights, q8_0, flash attention, 2 threads", type: "q8_0", form: "flash,1,keep,2", model: "15m" },
  { name: "15 M weights, q8_0, 4 sequences, 2 threads", type: "q8_0", form: "plain,4,keep,2", model: "15m" },
  { name: "24 M weights, q8_0, flash attention, 2 threads", type: "q8_0", form: "flash,1,keep,2", model: "24m" },
];
const CLASSES = ["weight", "kv_cache"] as const;

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "" },
    seconds: { type: "string", default: "30" },
    runs: { type: "string", default: "1" },
    touches: { type: "string" },
    missed: { type: "string" },
    record: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const CLI = join(import.meta.dir, "..", "src", "cli.ts");
const folder = mkdtempSync(join(tmpdir(), "mrm-truth-engine-"));

/** What count-touches says of one cycle. */
async function touched(
  { driver, libraries }: Cycles,
  model: string,
  { type, form, model: size = "1m" }: Case,
): Promise<string> {
  const kept = values.touches === undefined ? null : join(values.touches, `${size} ${type} ${form}`);
  if (kept !== null && existsSync(kept)) return readFileSync(kept, "utf8");
  const counter = [compileProgram("count-touches")];
  const text = await readAccesses([driver, libraries, model, form, "0"], "accesses to named memory", counter);
  if (kept !== null) {
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(kept, text);
  }
  return text;
}

async function modelOf({ type, model: size = "1m" }: Case): Promise<string> {
  const path = join(folder, `${size}-${type}.gguf`);
  if (!existsSync(path)) await writeModel({ ...MODELS[size], type, seed: 1 }, path);
  return path;
}

/** One run of one case: its figures of decoding beside what is true of it. */
async function rowsOf(cycles: Cycles, one: Case, seed: number): Promise<ProgramRow[]> {
  const model = await modelOf(one);
  const touches = touchesOf(await touched(cycles, model, one));
  const output = mkdtempSync(join(folder, "runs-"));
  const command = [cycles.driver, cycles.libraries, model, one.form, values.seconds];
  await outputOf([
    process.execPath,
    CLI,
    "run",
    "--output",
    output,
    "--run-id",
    "engine",
    "--seed",
    String(seed),
    "--",
    ...command,
  ]);
  using run = openRun(join(output, readdirSync(output)[0] ?? "", "engine"));
  const rows = CLASSES.flatMap((region_type) => {
    const seen = touches.get(`decode ${region_type}`);
    if (seen === undefined || seen.steps === 0) throw new Error(`no decode was recorded: ${one.name}`);
    const truth = truthOfTouches(seen);
    return (
      run
        .metrics()
        .filter((row) => row.step === "decode" && row.region_type === region_type && truth.has(row.metric))
        // Transposed values are written 2 bytes at a time: the steps count these, and the truth words of 8.
        .filter((row) => !(one.form.startsWith("plain") && row.source === "step" && row.metric.startsWith("writes")))
        .map((row) => ({ program: one.name, ...answerOf(row, truth.get(row.metric) ?? null) }))
    );
  });
  if (values.missed !== undefined && rows.some((row) => isGiven(row) && !row.isTrue)) {
    cpSync(output, join(values.missed, `${one.name} ${seed}`), { recursive: true });
  }
  return rows;
}

try {
  const cycles = await compileCycles(await ensureDemoEngine(demoCacheDir()), folder);
  const rows: ProgramRow[] = [];
  const cases = CASES.filter(({ name }) => name.includes(values.cases));
  for (const one of values.record ? cases : []) {
    await touched(cycles, await modelOf(one), one);
    process.stderr.write(`${one.name} recorded\n`);
  }
  for (const one of values.record ? [] : cases) {
    for (let seed = 1; seed <= Number(values.runs); seed++) {
      rows.push(...(await rowsOf(cycles, one, seed)));
      process.stderr.write(`${one.name} ${seed}\n`);
    }
  }
  if (!values.record) {
    const table = repeatedTable(rows);
    process.stdout.write(`${table}\n`);
    if (values.write) writeTable("llama.cpp", table);
  }
} finally {
  rmSync(folder, { recursive: true });
}
