import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { balances } from "../../../src/schema/ledger.ts";
import { type EngineRun, runEngine } from "../../fixtures/engine-run.ts";
import { compileTorch } from "../../fixtures/fake-torch/compile-torch.ts";
import { compileVllm } from "../../fixtures/fake-vllm/compile-vllm.ts";

setDefaultTimeout(60_000);

interface Said {
  readonly pool: string;
  readonly bytes: number;
  readonly steps: readonly (readonly number[])[];
  /** Where it lies at the end. */
  readonly other: string;
}
interface Detail {
  readonly kv_rows?: readonly (readonly [sequence: number, position: number, tokens: number])[];
  readonly kv_row_cells?: readonly (readonly [first: number, count: number])[];
}

let folder = "";
let vllm = { library: "", program: "" };
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-vllm-"));
  vllm = compileVllm(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

const serve = (window = -1, broken = 0, more = 0): Promise<EngineRun> =>
  runEngine([vllm.program, String(window), String(broken), String(more)], { objects: [vllm.library] });

/** What a server of steps of 4 ms makes in 8 s, of which a tracer without a CPU takes nothing. */
const UNTAKEN_STEPS = 2000;

const decodesOf = ({ steps }: EngineRun) => steps.filter(({ kind }) => kind === "decode");
const detailOf = ({ detail }: { readonly detail: string | null }): Detail => JSON.parse(detail ?? "{}");
const cellsOf = ({ kv_row_cells = [] }: Detail): number[] =>
  kv_row_cells.flatMap(([first, count]) => Array.from({ length: count }, (_, i) => first + i));

test("steps, tokens and the cells that each writes are those that the program makes", async () => {
  const run = await serve();
  expect(run.exitCode).toBe(0);
  expect(run.untold.filter((why) => why.includes("second cache"))).toEqual([]);
  expect(run.ledger.filter((row) => !balances(row) || row.dropped > 0)).toEqual([]);
  const said = JSON.parse(run.stdout) as Said;
  const decodes = decodesOf(run);
  expect(decodes.map((step) => cellsOf(detailOf(step)))).toEqual(said.steps.map((slots) => [...slots]));
  expect(decodes.map(({ n_tokens, n_sequences }) => [n_tokens, n_sequences])).toEqual([
    [12, 2],
    ...Array.from({ length: 4 }, () => [2, 2]),
    [6, 2],
    [2, 2],
    [1, 1],
  ]);
  for (const [i, { timestamp_ns, end_ns }] of decodes.entries()) {
    expect(end_ns).toBeGreaterThan(timestamp_ns);
    expect(decodes[i + 1]?.timestamp_ns ?? end_ns).toBeGreaterThanOrEqual(end_ns ?? 0n);
  }
});

test("the cache of each layer is placed once, and all of them together are the pool", async () => {
  const { tensors, stdout } = await serve();
  const said = JSON.parse(stdout) as Said;
  const layerBytes = BigInt(said.bytes / 3);
  expect(
    tensors.map(({ name, addr, size_bytes, layer, region_type, kv_layout, kv_row_bytes, kv_block_tokens }) => [
      ...[name, addr, size_bytes, layer, region_type, kv_layout, kv_row_bytes, kv_block_tokens],
    ]),
  ).toEqual(
    [0, 1, 2].map((layer) => [
      ...[`cache_kv_l${layer}`, BigInt(said.pool) + BigInt(layer) * layerBytes, layerBytes, layer],
      ...["kv_cache", "blocks", 128, 4],
    ]),
  );
});

test("a request that begins with blocks of another one is a sequence of its own, which has these rows from the other", async () => {
  const { steps } = await serve();
  const sequences = decodesOf({ steps } as EngineRun).map((step) => (detailOf(step).kv_rows ?? []).map(([id]) => id));
  expect(sequences).toEqual([...Array.from({ length: 5 }, () => [0, 1]), [1, 2], [1, 2], [2]]);
  const copies = steps.filter(({ kind }) => kind === "kv_copy");
  expect(copies.map(({ sequence_id, detail }) => [sequence_id, JSON.parse(detail ?? "")])).toEqual([
    [1, { sequence_from: 0, position_from: 0, position_to: 8 }],
    [2, { sequence_from: 0, position_from: 0, position_to: 4 }],
  ]);
  // What is written in the step itself is there for others when the step ends.
  const [first] = decodesOf({ steps } as EngineRun);
  expect(copies[0]?.timestamp_ns).toBe(first?.end_ns ?? 0n);
});

test("calls of the layers behind the first are passed over once their caches are known, and told again with another cache", async () => {
  const more = 200;
  const run = await serve(-1, 0, more);
  const said = JSON.parse(run.stdout) as Said;
  const decodes = decodesOf(run);
  expect(decodes.map((step) => cellsOf(detailOf(step)))).toEqual(said.steps.map((slots) => [...slots]));
  for (const [i, { timestamp_ns, end_ns }] of decodes.entries()) {
    expect(end_ns).toBeGreaterThan(timestamp_ns);
    expect(decodes[i + 1]?.timestamp_ns ?? end_ns).toBeGreaterThanOrEqual(end_ns ?? 0n);
  }
  // The other cache is told by its first layer at once, and as a whole where the look that follows comes in time.
  const layerBytes = BigInt(said.bytes / 3);
  const layersOf = (pool: string) => [0n, 1n, 2n].map((layer) => BigInt(pool) + layer * layerBytes);
  const places = run.tensors.map(({ addr, layer }) => `${layer}:${addr}`);
  const both = [...layersOf(said.pool), ...layersOf(said.other)].map((addr, i) => `${i % 3}:${addr}`);
  expect(run.untold.some((why) => why.includes("a second cache came up behind steps with the first"))).toBe(true);
  expect(places.slice(0, 4)).toEqual(both.slice(0, 4));
  // The last of them first, where the look falls into a step.
  expect(places.slice(4).toSorted()).toEqual(
    both
      .slice(4)
      .filter((place) => places.includes(place))
      .toSorted(),
  );
  expect(run.ledger.filter((row) => !balances(row) || row.dropped > 0)).toEqual([]);
  const hits = run.ledger.find(({ stream, stage }) => stream === "engine" && stage === "observe");
  // Of the seven calls of a step two may be passed over.
  expect(hits?.kept).toBeGreaterThanOrEqual(5 * (8 + more));
  expect(hits?.kept).toBeLessThanOrEqual(7 * (8 + more));
});

test("with a window over which tokens look back, steps and tokens are told and no rows", async () => {
  const decodes = decodesOf(await serve(128));
  expect(decodes.map(({ n_tokens }) => n_tokens)).toEqual([12, 2, 2, 2, 2, 6, 2, 1]);
  expect(decodes.map(({ detail }) => detail)).toEqual(Array(8).fill(null));
});

test("a cache whose numbers contradict each other is refused: steps without tokens, and counted", async () => {
  const run = await serve(-1, 1);
  expect(run.tensors).toEqual([]);
  expect(decodesOf(run).map(({ n_tokens, detail }) => [n_tokens, detail])).toEqual(Array(8).fill([null, null]));
  const decode = run.ledger.find(({ stream, stage }) => stream === "engine" && stage === "decode");
  expect(decode?.dropped_by).toEqual({ implausible: 24 });
});

test("forward passes of torch are not told beside the steps of vLLM in a process that has it", async () => {
  const torch = compileTorch(folder);
  const run = await runEngine([torch.program, "1", "8", "4", "0"], { objects: [torch.library, vllm.library] });
  expect(decodesOf(run)).toEqual([]);
  const decode = run.ledger.find(({ stream, stage }) => stream === "engine" && stage === "decode");
  expect(decode?.filtered).toBe(decode?.seen ?? 0);
  // Two lookups and a token in each of 5 passes; how often it multiplies before those probes rest is no matter.
  expect(decode?.seen).toBeGreaterThanOrEqual(15);
});

test("the ring holds the steps of 8 s that nobody takes", async () => {
  const command = [vllm.program, "-1", "0", String(UNTAKEN_STEPS)];
  const run = await runEngine(command, { objects: [vllm.library], drains: false });
  expect(run.ledger.filter(({ dropped }) => dropped > 0)).toEqual([]);
  const said = JSON.parse(run.stdout) as Said;
  expect(decodesOf(run)).toHaveLength(said.steps.length);
});

test("a step of more requests than a small record has room for is told as a whole", async () => {
  for (const wide of [16, 17, 32]) {
    const run = await runEngine([vllm.program, "-1", "0", "0", String(wide)], { objects: [vllm.library] });
    const said = JSON.parse(run.stdout) as Said;
    const last = decodesOf(run).at(-1);
    expect([last?.n_tokens, last?.n_sequences]).toEqual([wide, wide]);
    expect(cellsOf(detailOf(last ?? { detail: null }))).toEqual([...(said.steps.at(-1) ?? [])]);
    expect(run.ledger.filter((row) => !balances(row) || row.dropped > 0)).toEqual([]);
  }
});
