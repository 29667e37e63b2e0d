import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { balances } from "../../../src/schema/ledger.ts";
import { type EngineRun, runEngine } from "../../fixtures/engine-run.ts";
import { compileTorch } from "../../fixtures/fake-torch/compile-torch.ts";

setDefaultTimeout(60_000);

let folder = "";
let torch = { library: "", program: "" };
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-torch-"));
  torch = compileTorch(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

const generate = (sequences: number, prompt: number, decoded: number, broken = 0, pause_us = 0): Promise<EngineRun> =>
  runEngine([torch.program, ...[sequences, prompt, decoded, broken, pause_us].map(String)], {
    objects: [torch.library],
  });

/** The batches of a run, which ends with every pass ended and nothing lost. */
function passesOf({ steps, ledger, exitCode, pid }: EngineRun) {
  expect(exitCode).toBe(0);
  expect(ledger.filter((row) => !balances(row))).toEqual([]);
  const passes = steps.filter(({ kind }) => kind === "decode");
  for (const [i, { timestamp_ns, end_ns, pid: of }] of passes.entries()) {
    expect(of).toBe(pid);
    expect(end_ns).toBeGreaterThan(timestamp_ns);
    expect(passes[i + 1]?.timestamp_ns ?? end_ns).toBeGreaterThanOrEqual(end_ns ?? 0n);
  }
  return passes.map(({ n_tokens, n_sequences }) => [n_tokens, n_sequences]);
}

test("forward passes and their tokens are those that the program makes, and its table of positions is none", async () => {
  const run = await generate(1, 40, 300);
  expect(run.attached.map(({ symbols }) => symbols.length)).toEqual([3]);
  const passes = passesOf(run);
  expect(passes).toEqual([[40, 1], ...Array.from({ length: 300 }, () => [1, 1])]);
  const tokens = passes.reduce((sum, [n]) => sum + (n ?? 0), 0);
  expect(run.stdout).toStartWith(`${passes.length} ${tokens} `);
  expect(run.ledger.filter(({ dropped }) => dropped > 0)).toEqual([]);
});

test("tokens of several sequences in one batch are all counted, each pass with its sequences", async () => {
  expect(passesOf(await generate(3, 16, 20))).toEqual([[48, 3], ...Array.from({ length: 20 }, () => [3, 3])]);
});

test("weights that no file names are told of by those who use them, those that are made anew for each use are not", async () => {
  const run = await generate(1, 4, 300, 0, 3000);
  const addresses = run.stdout.trim().split(" ").slice(2).map(BigInt);
  const found = run.tensors.map(({ kind, addr, region_type, evidence }) => [kind, addr, region_type, evidence]);
  const told = addresses.map((addr) => ["graph", addr, "weight", "operand"]);
  expect(found.map(String).sort()).toEqual(told.map(String).sort());
  expect(run.ledger.filter(({ dropped }) => dropped > 0)).toEqual([]);
});

test("structures that contradict themselves are refused: passes without tokens, and counted", async () => {
  const run = await generate(1, 8, 4, 7);
  expect(passesOf(run)).toEqual(Array.from({ length: 5 }, () => [null, null]));
  const decode = run.ledger.find(({ stream, stage }) => stream === "engine" && stage === "decode");
  expect(decode?.dropped_by).toEqual({ implausible: 5 });
});
