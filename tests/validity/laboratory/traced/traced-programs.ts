/** The programs whose traces `bun run truth --traced` samples: kernels of C, and llama.cpp. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { demoCacheDir } from "../../../../src/demo/cache.ts";
import { ensureDemoEngine } from "../../../../src/demo/install.ts";
import type { ModelType } from "../../../../src/demo/model/weight-type.ts";
import { writeModel } from "../../../../src/demo/model/write-model.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { type Cycles, compileCycles } from "../../../fixtures/llama-cycles.ts";
import { isRecorded, recordTrace } from "./access-trace.ts";
import type { TracedProgram } from "./traced-worlds.ts";

interface Recorded extends TracedProgram {
  /** Writes the trace. @param folder for what is needed meanwhile, the same for all */
  readonly record: (trace: string, folder: string) => Promise<void>;
}

/** A slow machine, on which a turn takes tens of milliseconds as a token of a large model does. */
const CYCLE_NS = 400;

/** A kernel of traced-kernels.c, without libraries: valgrind ends where somebody else has a breakpoint in one of them. */
export async function recordKernel(kernel: string, turns: number, trace: string): Promise<void> {
  await recordTrace([compileProgram("traced-kernels", ["-static"]), kernel, String(turns)], trace);
}

function kernel(name: string, word: string, turns: number, has_steps = false): Recorded {
  const folder = `${word}-${turns}`;
  return { name, folder, cycle_ns: CYCLE_NS, has_steps, record: (trace) => recordKernel(word, turns, trace) };
}

/** Compiled once, whatever the models. */
let cycles: Promise<Cycles> | null = null;

/** The model of a million weights: a prompt of 16 tokens, and 24 more. */
function engine(name: string, type: ModelType, attention: string): Recorded {
  return {
    name,
    folder: `llama-${type}-${attention}`,
    cycle_ns: CYCLE_NS,
    has_steps: true,
    async record(trace, folder) {
      cycles ??= compileCycles(await ensureDemoEngine(demoCacheDir()), folder);
      const { driver, libraries } = await cycles;
      const model = join(folder, `${type}.gguf`);
      await writeModel({ params: "1m", type, seed: 1 }, model);
      await recordTrace([driver, libraries, model, `${attention},1,keep`, "0"], trace);
    },
  };
}

export const TRACED_PROGRAMS: readonly Recorded[] = [
  kernel("C: matrix times vector, and a cache", "decode", 100, true),
  kernel("C: counts in a hash table", "table", 100),
  kernel("C: a stencil between two grids", "grids", 100),
  kernel("C: sorting by merging", "sort", 8),
  engine("llama.cpp, f16, flash attention", "f16", "flash"),
  engine("llama.cpp, q4_0 repacked", "q4_0", "plain"),
];

/** Records the traces that are not there yet. @param traces folder of all traces */
export async function recordAll(programs: readonly Recorded[], traces: string): Promise<void> {
  const meanwhile = mkdtempSync(join(tmpdir(), "mrm-traced-"));
  try {
    for (const { name, folder, record } of programs) {
      const trace = join(traces, folder);
      if (isRecorded(trace)) continue;
      await record(trace, meanwhile);
      process.stderr.write(`${name} is recorded\n`);
    }
  } finally {
    rmSync(meanwhile, { recursive: true });
  }
}
