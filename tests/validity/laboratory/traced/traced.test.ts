/** Sampled figures against the exact trace of a real program; the seeds are fixed, and of one compiler the trace is the same each time. */
import { afterAll, beforeAll, test as bunTest, expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sourceCoverage } from "../sources/source-worlds.ts";
import { loadTrace } from "./access-trace.ts";
import { exactFigures } from "./exact-figures.ts";
import { recordKernel } from "./traced-programs.ts";
import { type TracedProgram, tracedWorlds } from "./traced-worlds.ts";

setDefaultTimeout(120_000);

const hasValgrind = Bun.which("valgrind") !== null;
if (!hasValgrind) process.stderr.write("skipped: samples of an exact trace: valgrind is not installed\n");
const test = bunTest.skipIf(!hasValgrind);

const TURNS = 10;
const RUNS = 8;
/** Of 8 intervals that hold in 95 % of runs fewer are true by a chance of some 1e-8, whatever the compiler makes of the program. */
const FEWEST_HELD = 0.25;
const WIDTH = 160;
const CYCLE_NS = 1000;
const PROGRAM: TracedProgram = { name: "decode", folder: "decode", cycle_ns: CYCLE_NS, has_steps: true };

const traces = mkdtempSync(join(tmpdir(), "mrm-traced-test-"));
beforeAll(async () => {
  if (hasValgrind) await recordKernel("decode", TURNS, join(traces, PROGRAM.folder));
});
afterAll(() => rmSync(traces, { recursive: true }));

test("the trace of a matrix times a vector has a load of each of its elements in each turn, and no store", async () => {
  const trace = await loadTrace(join(traces, PROGRAM.folder));
  const truth = exactFigures(trace, CYCLE_NS, 50_000);
  const seconds = (trace.cycles * CYCLE_NS) / 1e9;
  expect(trace.steps).toHaveLength(TURNS);
  expect((truth.get("loads_per_s of weight")?.lo ?? 0) * seconds).toBeCloseTo(TURNS * WIDTH * WIDTH, 3);
  expect(truth.get("stores_per_s of weight")?.lo).toBe(0);
  expect(truth.get("working_set_bytes of weight, 64 B")?.lo).toBe(WIDTH * WIDTH * 4);
  // A row of the cache for each turn.
  expect(truth.get("working_set_bytes, 64 B")?.lo).toBe(TURNS * WIDTH * 4);
});

test.each(tracedWorlds([PROGRAM], traces).map((world) => [`${world.sources[0]}: ${world.name}`, world] as const))(
  "what samples of an exact trace say is true: %s",
  async (_, world) => {
    const rows = await sourceCoverage(world, { seeds: RUNS });
    expect(rows.length).toBeGreaterThan(10);
    for (const { metric, ok, held, bound, right } of rows) {
      expect([metric, right]).toEqual([metric, bound]);
      expect([metric, held >= FEWEST_HELD * ok]).toEqual([metric, true]);
    }
  },
);
