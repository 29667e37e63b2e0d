import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { createEbpfCollector } from "../../../src/collect/ebpf/ebpf.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import { ENGINES } from "../../../src/engine/engines.ts";
import { labelRun } from "../../../src/label/label-run.ts";
import { record, type StopReason } from "../../../src/record/recorder.ts";
import { balances, type LedgerRow } from "../../../src/schema/ledger.ts";
import { openDatabase } from "../../../src/sql/database.ts";
import { createProcessTree } from "../../../src/target/process-tree.ts";
import { compileEngine, compileLinked, compileRunner } from "../../fixtures/paged-engine/compile-engine.ts";
import { pagedEngine } from "../../fixtures/paged-engine/paged-engine.ts";
import { holdTarget } from "../collect/held-target.ts";

setDefaultTimeout(60_000);

/** What the program says that it did: addresses as text, for they have more digits than a number. */
interface Truth {
  readonly engine: string;
  readonly pid: number;
  readonly tensors: readonly (readonly [name: string, addr: string, bytes: number])[];
  readonly rows: readonly (readonly [tensor: string, addr: string, position: number, reads: number, evicted: number])[];
}

/** A row of the labels as text, comparable. */
type Labels = readonly (readonly unknown[])[];

let folder = "";
let runner = "";
const libraries: Record<string, string> = {};
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-paged-"));
  runner = compileRunner(folder);
  libraries.first = compileEngine(folder, "first", 4);
  libraries.second = compileEngine(folder, "second", 8);
});
afterAll(() => rmSync(folder, { recursive: true }));

const truthOf = (line: string): Truth => JSON.parse(line.replaceAll(/,(\d{12,})([,\]])/g, ',"$1"$2'));

/** Records the runner under the whole tracer but for watches, and labels what was captured. */
async function traced(engines: readonly Engine[], args: readonly string[], lines: number, program = runner) {
  const runDir = mkdtempSync(join(folder, "run-"));
  await using held = holdTarget([program, ...args]);
  const tree = createProcessTree();
  const options = { budgetPct: 1, watchRegisters: 0, sources: ["auto"], seed: 1, clockHz: 100 };
  const engineObjects = [...Object.values(libraries), program];
  const facts = { pmus: [], kernelRelease: release(), arch: process.arch };
  const collector = createEbpfCollector({ ...options, engineObjects, engines, tree }, facts);
  let ledger: readonly LedgerRow[] = [];
  const truths: Truth[] = [];
  try {
    await collector.start(held.target);
    let isReleased = false;
    let stop: (why: StopReason) => void = () => {};
    const recording = record({
      runDir,
      collectors: [collector],
      isOwnProcess: true,
      starting: true,
      stopped: new Promise((resolve) => {
        stop = resolve;
      }),
      durationNs: undefined,
      maxSizeBytes: 2 ** 30,
      onBatch: () => {},
      onPoll: () => {
        if (!isReleased) held.release();
        isReleased = true;
        if (tree.hasEnded()) stop("target_ended");
      },
    });
    for (let i = 0; i < lines; i++) truths.push(truthOf(await held.line()));
    expect(await held.finish()).toBe(0);
    ({ ledger } = await recording);
  } finally {
    await collector.stop();
  }
  await using database = await openDatabase();
  const labelled = await labelRun(database, runDir, "run");
  const file = (name: string): string => `read_parquet('${join(runDir, `${name}.parquet`)}')`;
  const regions = await database.rows(
    `SELECT pid, tensor, region_type, addr, size_bytes FROM ${file("region_map")} WHERE region_type IN ('weight', 'kv_cache', 'activation')`,
  );
  const kv = await database.rows(
    `SELECT pid, tensor, address, position, total_reads, evict_ns FROM ${file("kv_block_lifecycle")}`,
  );
  return { truths, ledger, labelled, regions, kv };
}

type Traced = Awaited<ReturnType<typeof traced>>;

function sorted(rows: Labels): string[] {
  return rows.map((row) => row.map(String).join(" ")).sort();
}

/** Holds the labels of every process and engine against what the program said. */
function expectTruth({ truths, regions, kv, ledger, labelled }: Traced): void {
  expect(ledger.filter((row) => !balances(row))).toEqual([]);
  expect(ledger.filter(({ stream, dropped }) => stream === "engine" && dropped > 0)).toEqual([]);
  expect(labelled.capture.skipped).toEqual([]);
  const rows = truths.flatMap((truth) => truth.rows.map((row) => [truth.pid, ...row] as const));
  // What is not given back stays until its tensor ends with the process.
  const evicted = (row: Traced["kv"][number]): boolean => {
    const ends = labelled.kvRows.tensors.filter(({ pid, name }) => pid === row.pid && name === row.tensor);
    return Number((row.evict_ns as bigint) - labelled.origin_ns) < Math.min(...ends.map(({ death_ns }) => death_ns));
  };
  const given = kv.map((row) => [row.pid, row.tensor, row.address, row.position, row.total_reads, evicted(row)]);
  expect(rows.length).toBeGreaterThan(100);
  expect(sorted(given)).toEqual(sorted(rows.map((row) => [...row.slice(0, 5), row[5] === 1])));
  const tensors = truths.flatMap(({ pid, tensors: all }) => all.map((tensor) => [pid, ...tensor] as const));
  const named = regions.filter(({ region_type }) => region_type !== "activation");
  expect(sorted(named.map((row) => [row.pid, row.tensor, row.addr, row.size_bytes]))).toEqual(
    sorted(tensors.filter(([, name]) => name !== "scratch")),
  );
  for (const row of named) expect(row.region_type).toBe(String(row.tensor).endsWith(".w") ? "weight" : "kv_cache");
  const activations = regions.filter(({ region_type }) => region_type === "activation");
  expect(sorted(activations.map((row) => [row.pid, row.addr, row.size_bytes]))).toEqual(
    sorted(tensors.filter(([, name]) => name === "scratch").map(([pid, , addr, bytes]) => [pid, addr, bytes])),
  );
}

describe("an engine with a paged cache, added to the list of engines", () => {
  let run: Traced;
  beforeAll(async () => {
    run = await traced([...ENGINES, pagedEngine("first")], [libraries.first ?? "", "first_run"], 1);
  });

  test("has its weights, its cache and its activations by name, where the program placed them", () => {
    expectTruth(run);
  });

  test("has one step for each of its calls, with sequence, position and tokens", () => {
    const decodes = run.labelled.steps.filter(({ kind }) => kind === "decode");
    const turns = (tokens: readonly number[]) => Array.from({ length: 4 }, () => tokens).flat();
    expect(decodes.map(({ sequence_id }) => sequence_id)).toEqual([0, 1, ...turns([0, 1]), 0, 1, 2, ...turns([1, 2])]);
    expect(decodes.map(({ n_tokens }) => n_tokens)).toEqual([6, 3, ...Array(10).fill(1), 7, ...Array(8).fill(1)]);
    for (const step of decodes) expect(step.end_ns).toBeGreaterThan(step.begin_ns);
  });

  test("gives blocks to another sequence once they are given back", () => {
    const addresses = run.kv.map((row) => String(row.address));
    const again = addresses.filter((addr, i) => addresses.indexOf(addr) !== i);
    expect(again.length).toBeGreaterThan(0);
    expect(new Set(run.labelled.kvRows.tensors.map(({ layout }) => layout.form))).toEqual(new Set(["paged"]));
  });

  test("is told of in what the capture says, and nothing else is", () => {
    expect(run.labelled.engines).toEqual([
      { name: "first", objects: [libraries.first ?? ""], settings: {}, build: null, build_id: null, context: null },
    ]);
  });
});

test("two engines in one process, and one of them in its child, have each their own steps, tensors and rows", async () => {
  const { first = "", second = "" } = libraries;
  const args = [first, "first_run", "fork", second, "second_run", second, "second_run"];
  const run = await traced([pagedEngine("first"), pagedEngine("second")], args, 3);
  expect(run.truths.map(({ engine }) => engine)).toEqual(["first", "second", "second"]);
  expect(new Set(run.truths.map(({ pid }) => pid)).size).toBe(2);
  expectTruth(run);
  const decodes = run.labelled.steps.filter(({ kind }) => kind === "decode");
  const [parent, child] = [run.truths[0]?.pid, run.truths[1]?.pid];
  const of = (engine: string, pid: number | undefined) =>
    decodes.filter((step) => step.engine === engine && step.pid === pid).length;
  expect([of("first", parent), of("second", parent), of("first", child), of("second", child)]).toEqual([21, 21, 0, 21]);
  expect(run.labelled.engines.map(({ name }) => name).sort()).toEqual(["first", "second"]);
});

test("an engine in a static program that exports nothing is told by the whole table of symbols", async () => {
  const program = compileLinked(folder, "third", 4);
  const run = await traced([pagedEngine("third")], [], 1, program);
  expectTruth(run);
  expect(run.labelled.engines).toMatchObject([{ name: "third", objects: [program] }]);
});
