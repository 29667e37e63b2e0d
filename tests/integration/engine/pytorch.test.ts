import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../../src/engine/engine.ts";
import { decodeCacheWrite } from "../../../src/engine/pytorch/cache-write.ts";
import { DIMENSION, PROBE } from "../../../src/engine/pytorch/probes.ts";
import { pytorch } from "../../../src/engine/pytorch/pytorch.ts";
import { balances } from "../../../src/schema/ledger.ts";
import { type EngineRun, runEngine } from "../../fixtures/engine-run.ts";
import { compileTorch } from "../../fixtures/fake-torch/compile-torch.ts";
import { NAMES_OF_LAYERS, namedTorch } from "../../fixtures/fake-torch/named-torch.ts";

setDefaultTimeout(60_000);

let folder = "";
let torch = { library: "", allocator: "", program: "", cache: "", moving: "" };
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
  expect(run.attached.map(({ symbols }) => symbols.length)).toEqual([5]);
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

test("keys and values that stay where they are are told until their memory is given back, without layers and rows where no program says how many layers it has", async () => {
  const written: number[][] = [];
  const engine: Engine = {
    ...pytorch,
    follow(...process) {
      const state = pytorch.follow(...process);
      const take: typeof state.take = (record) => {
        const found = record.probe === PROBE.write && decodeCacheWrite(record.payload, record.args[DIMENSION]);
        if (found && found !== "other") written.push([found.sequences, found.first, found.count]);
        return state.take(record);
      };
      return { ...state, take };
    },
  };
  const run = await runEngine([torch.cache, "7", "20"], { objects: [torch.library], engines: [engine] });
  expect(run.exitCode).toBe(0);
  expect(run.ledger.filter((row) => !balances(row))).toEqual([]);
  const [k0, v0, k1, v1, bytes = 0] = run.stdout.trim().split(" ").map(Number);
  const names = ["cache_k", "cache_v", "cache_k", "cache_v"];
  const tensors = run.tensors.toSorted((one, other) => Number(one.timestamp_ns - other.timestamp_ns));
  const places = tensors.map(({ kind, name, layer, addr, size_bytes }) =>
    [kind, name, layer, addr, size_bytes].join(" "),
  );
  const born = (size: number): string[] =>
    [k0, v0, k1, v1].map((addr, i) => ["graph", names[i], null, addr, size].join(" "));
  expect(places.slice(0, 4)).toEqual(born(bytes));
  expect(tensors.slice(4, 8).map(({ kind, addr }) => [kind, Number(addr)])).toEqual(
    [k0, v0, k1, v1].map((addr = 0) => ["free", addr]),
  );
  expect(places.slice(8, 12)).toEqual(born(2 * bytes));
  const passes = run.steps.filter(({ kind }) => kind === "decode");
  // What lay there is gone before the pause, in which nobody uses it: the second pass of the next tells of that.
  const [last, next] = [passes[20], passes[21]];
  for (const { timestamp_ns } of tensors.slice(4, 8)) {
    expect(timestamp_ns).toBeGreaterThan(last?.timestamp_ns ?? 0n);
    expect(timestamp_ns).toBeLessThan(next?.timestamp_ns ?? 0n);
  }
  expect(passes.map(({ position_first, detail }) => [position_first, detail])).toEqual(passes.map(() => [null, null]));
  expect(run.untold.some((why) => why.includes("the layers of a static KV cache, and its rows"))).toBe(true);
  const rows = [[7, 5], ...Array.from({ length: 20 }, (_, i) => [12 + i, 1])];
  const parts = Array.from({ length: 4 });
  expect(written).toEqual([1, 2].flatMap((sequences) => rows.flatMap((row) => parts.map(() => [sequences, ...row]))));
  expect(run.steps.filter(({ detail }) => detail?.includes("kv_caches")).map(({ detail }) => detail)).toEqual([
    JSON.stringify({ settings: { kv_caches: 1 } }),
  ]);
});

test("keys and values that move for every pass are told by the layer of the weights around them wherever they lie, until the next pass moves them", async () => {
  for (const [sequences, named] of [
    [1, NAMES_OF_LAYERS],
    [2, NAMES_OF_LAYERS],
    [1, []],
  ] as const) {
    const engines = [namedTorch(named)];
    const run = await runEngine([torch.moving, "40", String(sequences)], { objects: [torch.library], engines });
    expect(run.exitCode).toBe(0);
    expect(run.ledger.filter((row) => !balances(row) || row.dropped > 0)).toEqual([]);
    const numbers = named.length > 0 ? [2, 5] : null;
    const names = [0, 1].flatMap((i) => ["k", "v"].map((part) => `cache_${part}${numbers ? `_l${numbers[i]}` : ""}`));
    const reasons = run.untold.filter((why) => why.includes("the layers of a dynamic KV cache"));
    expect(reasons).toHaveLength(numbers ? 0 : 1);
    const said = run.stdout.trim().split(" ");
    const stays = Array.from({ length: said.length / 2 }, (_, i) => [names[i % 4], ...said.slice(2 * i, 2 * i + 2)]);
    // Weights without a name may be told of in time.
    const rows = run.tensors
      .filter(({ region_type }) => region_type !== "weight")
      .toSorted((one, other) => Number(one.timestamp_ns - other.timestamp_ns));
    const born = rows.filter(({ kind }) => kind === "tensor");
    expect(stays).toHaveLength(4 * 41);
    expect(born.map(({ name, addr, size_bytes }) => [name, addr, size_bytes].join())).toEqual(stays.map(String));
    const steps = run.steps.filter(({ kind }) => kind === "decode");
    expect(steps.map(({ detail }) => JSON.parse(detail ?? "{}"))).toEqual(
      Array.from({ length: 41 }, (_, pass) => ({
        ...{ moved_cache: [0, pass], moved_sequences: [0, sequences], moved_layers: 2 },
        ...{ moved_numbers: numbers, moved_bytes: [[64, 64]] },
        moved_rows: [pass === 0 ? [0, 0, 5] : [0, 4 + pass, 1]],
      })),
    );
    expect(steps.map(({ position_first }) => position_first)).toEqual(
      steps.map((_, pass) => (sequences > 1 ? null : pass === 0 ? 0 : 4 + pass)),
    );
    // Each is gone when the pass that moves it begins to do so; the last are looked at, if there is time for it.
    const gone = rows.filter(({ kind }) => kind === "free").map(({ addr, timestamp_ns }) => `${addr} ${timestamp_ns}`);
    const moved = born.slice(4).map(({ timestamp_ns }, i) => `${born[i]?.addr} ${timestamp_ns}`);
    expect(gone.slice(0, moved.length)).toEqual(moved);
    expect(rows.some(({ evidence }) => evidence !== "operand")).toBe(false);
    expect(rows.filter(({ region_type }) => region_type !== "kv_cache").every(({ kind }) => kind === "free")).toBe(
      true,
    );
  }
});

test("what passes allocate and give back is counted for a while, less what is a cache's", async () => {
  const run = await runEngine([torch.moving, "1100", "2"], { objects: [torch.library, torch.allocator] });
  passesOf(run);
  const looks = run.steps.flatMap(({ detail }) => JSON.parse(detail ?? "{}").activations ?? []);
  expect(looks.length).toBe(2);
  const [[passes, allocations, bytes, most, open], bins] = looks;
  // A look ends where eight passes were seen whole, and sees some more until its probes are away.
  expect(passes).toBeWithin(8, 600);
  // In each pass each of 4 parts: a row of 128 bytes, and twice as many put together along another dimension.
  expect([allocations, bytes, most, open]).toEqual([8 * passes, 4 * 384 * passes, 384, 0]);
  expect(bins.reduce((sum: number, [, count]: number[]) => sum + (count ?? 0), 0)).toBe(allocations);
});
