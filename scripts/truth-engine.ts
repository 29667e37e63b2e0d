#!/usr/bin/env bun
/**
 * What `mrm-trace run` says of real llama.cpp, held against every access that it makes:
 * `bun scripts/truth-engine.ts [--cases TEXT] [--seconds N] [--runs N] [--touches FOLDER] [--write]`. A program that decodes in cycles that are
 * all alike runs one of them under valgrind's lackey, which writes every load and store, and then for some time under the
 * tracer as a user would. What lackey saw is kept in FOLDER, and not asked for again. With --write the table of
 * docs/accuracy-programs.md is written anew. It needs root, valgrind, cc and git, and some 4 minutes for a case,
 * of 15 million weights half an hour.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
import { type ProgramRow, repeatedTable, writeTable } from "../tests/validity/laboratory/program-table.ts";
import { touchesOf, truthOfTouches } from "../tests/validity/laboratory/touches.ts";

/** As many weights as the name says, though with a small vocabulary: one of 32,000 words takes valgrind long before the first token. */
const MODELS = {
  "1m": { params: "1m" },
  "15m": { params: "15m", apart: { layers: 15, vocabulary: 512 } },
} as const satisfies Record<string, Pick<ModelSpec, "params" | "apart">>;

interface Case {
  readonly name: string;
  readonly type: ModelType;
  readonly model?: keyof typeof MODELS;
  /** Attention, sequences, and what becomes of the cache, as llama-cycles.c has it. */
  readonly form: string;
}

const CASES: readonly Case[] = [
  { name: "f16, flash attention", type: "f16", form: "flash,1,keep" },
  { name: "f16", type: "f16", form: "plain,1,keep" },
  { name: "q8_0, flash attention", type: "q8_0", form: "flash,1,keep" },
  { name: "q4_0 repacked, flash attention", type: "q4_0", form: "flash,1,keep" },
  { name: "q4_0 repacked", type: "q4_0", form: "plain,1,keep" },
  { name: "4 sequences, flash attention", type: "q4_0", form: "flash,4,keep" },
  { name: "4 sequences", type: "q4_0", form: "plain,4,keep" },
  { name: "rows taken back", type: "q4_0", form: "flash,1,trim" },
  { name: "context shifts", type: "q4_0", form: "flash,1,shift" },
  { name: "15 M weights, q4_0 repacked, flash attention", type: "q4_0", form: "flash,1,keep", model: "15m" },
];
const CLASSES = ["weight", "kv_cache"] as const;

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "" },
    seconds: { type: "string", default: "30" },
    runs: { type: "string", default: "1" },
    touches: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const CLI = join(import.meta.dir, "..", "src", "cli.ts");
const folder = mkdtempSync(join(tmpdir(), "mrm-truth-engine-"));

const LACKEY = "valgrind --tool=lackey --trace-mem=yes --basic-counts=no --log-fd=9";

/** What count-touches says of one cycle. */
async function touched(
  { driver, libraries }: Cycles,
  model: string,
  { type, form, model: size = "1m" }: Case,
): Promise<string> {
  const kept = values.touches === undefined ? null : join(values.touches, `${size} ${type} ${form}`);
  if (kept !== null && existsSync(kept)) return readFileSync(kept, "utf8");
  const pipe = `set -o pipefail; ${LACKEY} "$1" "$2" "$3" "$4" 0 9>&1 >/dev/null 2>/dev/null | "$5"`;
  const counter = compileProgram("count-touches");
  const text = await outputOf(["bash", "-c", pipe, "bash", driver, libraries, model, form, counter]);
  if (kept !== null) {
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(kept, text);
  }
  return text;
}

/** One run of one case: its figures of decoding beside what is true of it. */
async function rowsOf(cycles: Cycles, one: Case, seed: number): Promise<ProgramRow[]> {
  const size = one.model ?? "1m";
  const model = join(folder, `${size}-${one.type}.gguf`);
  if (!existsSync(model)) await writeModel({ ...MODELS[size], type: one.type, seed: 1 }, model);
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
  return CLASSES.flatMap((region_type) => {
    const seen = touches.get(`decode ${region_type}`);
    if (seen === undefined || seen.steps === 0) throw new Error(`lackey saw no decode of ${one.name}`);
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
}

try {
  const cycles = await compileCycles(await ensureDemoEngine(demoCacheDir()), folder);
  const rows: ProgramRow[] = [];
  for (const one of CASES.filter(({ name }) => name.includes(values.cases))) {
    for (let seed = 1; seed <= Number(values.runs); seed++) {
      rows.push(...(await rowsOf(cycles, one, seed)));
      process.stderr.write(`${one.name} ${seed}\n`);
    }
  }
  const table = repeatedTable(rows);
  process.stdout.write(`${table}\n`);
  if (values.write) writeTable("llama.cpp", table);
} finally {
  rmSync(folder, { recursive: true });
}
