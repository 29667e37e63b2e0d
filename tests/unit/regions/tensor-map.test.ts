import { expect, test } from "bun:test";
import { COLUMNS, layoutColumns } from "../../../src/regions/kv-layout.ts";
import { createTensorMap } from "../../../src/regions/tensor-map.ts";
import type { RowOf } from "../../../src/schema/row.ts";
import { alive, tensorAt } from "../../fixtures/found-regions.ts";
import type { Given } from "../../fixtures/row-with.ts";

function row(kind: RowOf<"tensor">["kind"], time: number, fields: Given<"tensor"> = {}): RowOf<"tensor"> {
  return {
    timestamp_ns: BigInt(time),
    pid: 100,
    tid: 100,
    engine: "engine",
    kind,
    name: null,
    tensor_type: null,
    addr: 0x1000n,
    size_bytes: 0x100n,
    shape: null,
    buffer: 1n,
    buffer_addr: 0x1000n,
    buffer_size_bytes: 0x1000n,
    usage: null,
    region_type: null,
    layer: null,
    logical_id: null,
    ...layoutColumns(null),
    evidence: "engine_probe",
    ...fields,
  };
}

test("weights keep their tensor from placement to the free of the buffer, once", () => {
  const map = createTensorMap();
  const weight = { name: "a.weight", region_type: "weight" } as const;
  map.apply(row("tensor", 1, weight));
  map.apply(row("graph", 5, weight));
  map.apply(row("free", 9));
  expect(map.lifetimes().map((t) => [t.name, t.birth_ns, t.death_ns, t.ended_by])).toEqual([
    ["a.weight", 1n, 9n, "free"],
  ]);
  expect(tensorAt(map.lifetimes(), 0x10ffn, 8n)?.name).toBe("a.weight");
  expect([tensorAt(map.lifetimes(), 0x1100n, 8n), tensorAt(map.lifetimes(), 0x1000n, 9n)]).toEqual([
    undefined,
    undefined,
  ]);
});

test("a tensor that is alone in its buffer is a cache from its birth on where a graph tells so later", () => {
  const map = createTensorMap();
  const alone = { name: null, size_bytes: 0x1000n };
  map.apply(row("buffer", 1));
  map.apply(row("tensor", 2, alone));
  map.apply(row("graph", 5, { ...alone, region_type: "kv_cache", logical_id: "layer3.k", layer: 3 }));
  map.apply(row("free", 9));
  expect(map.lifetimes()).toMatchObject([
    { region_type: "kv_cache", logical_id: "layer3.k", birth_ns: 2n, birth_censored: false, death_ns: 9n },
  ]);
});

test("what shares a buffer with others keeps its place where a graph tells of one of them", () => {
  const map = createTensorMap();
  map.apply(row("buffer", 1));
  map.apply(row("tensor", 2));
  map.apply(row("tensor", 3, { addr: 0x1100n }));
  map.apply(row("graph", 5, { region_type: "kv_cache", logical_id: "layer3.k", layer: 3 }));
  expect(map.lifetimes().map(({ region_type, birth_ns }) => [region_type, birth_ns])).toEqual([
    [null, 2n],
    ["kv_cache", 5n],
  ]);
});

test("tensors that share a compute buffer are its candidates", () => {
  const map = createTensorMap();
  map.apply(row("tensor", 1, { name: "x", region_type: "activation" }));
  map.apply(row("tensor", 2, { name: "y", region_type: "activation" }));
  const [region, ...others] = alive(map.lifetimes());
  expect(others).toEqual([]);
  expect([region?.name, region?.candidates, region?.size_bytes]).toEqual([null, ["x", "y"], 0x1000n]);
});

test("what was found in a graph, and a buffer that nobody saw made, were born before we looked", () => {
  const map = createTensorMap();
  const unseen = { buffer: 2n, addr: 0x4000n, buffer_addr: 0x4000n, region_type: "activation" } as const;
  map.apply(row("buffer", 1, { buffer: 3n, addr: 0x8000n, buffer_addr: 0x8000n }));
  map.apply(row("tensor", 2, { ...unseen, buffer: 3n, addr: 0x8000n, buffer_addr: 0x8000n, name: "made" }));
  map.apply(row("tensor", 3, { ...unseen, name: "unseen" }));
  map.apply(row("graph", 4, { name: "a.weight", region_type: "weight" }));
  expect(map.lifetimes().map((life) => [life.birth_ns, life.birth_censored])).toEqual([
    [2n, false],
    [3n, true],
    [4n, true],
  ]);
});

test("a usage that comes later makes weights of the tensors from their birth", () => {
  const map = createTensorMap();
  map.apply(row("tensor", 1, { name: "x" }));
  map.apply(row("tensor", 2, { name: "y", addr: 0x1200n }));
  map.apply(row("usage", 3, { usage: "weights" }));
  expect(alive(map.lifetimes()).map((t) => [t.name, t.region_type, t.birth_ns])).toEqual([
    ["x", "weight", 1n],
    ["y", "weight", 2n],
  ]);
  expect(tensorAt(map.lifetimes(), 0x1200n, 2n)?.name).toBe("y");
});

test("another tensor or buffer at the address ends what was there", () => {
  const map = createTensorMap();
  map.apply(row("tensor", 1, { name: "k", region_type: "kv_cache" }));
  map.apply(row("tensor", 4, { name: "v", region_type: "kv_cache", addr: 0x1080n }));
  map.apply(row("buffer", 7, { buffer: 2n, addr: 0x1800n, buffer_addr: 0x1800n }));
  expect(map.lifetimes().map((t) => [t.name, t.death_ns, t.ended_by])).toEqual([
    ["k", 4n, "replaced"],
    ["v", 7n, "replaced"],
  ]);
});

test("dry runs without bytes and rows without their buffer are counted, not kept", () => {
  const map = createTensorMap();
  map.apply(row("tensor", 1, { name: "x", size_bytes: 0n }));
  map.apply(row("tensor", 1, { name: "x", buffer_size_bytes: 0n }));
  map.apply(row("free", 2, { buffer: 77n }));
  map.apply(row("free", 2, { buffer: null }));
  expect(map.lifetimes()).toEqual([]);
  expect(map.counters).toEqual({ applied: 3, zero_sized: 2, unknown_buffers: 1, bad_rows: 1 });
});

test("what the engine tells of a cache's layout later holds from its birth on, and of no tensor is counted", () => {
  const map = createTensorMap();
  const cache = { name: "cache_v_l0", region_type: "kv_cache" } as const;
  map.apply(row("tensor", 1, { ...cache, kv_layout: "unknown" }));
  map.apply(row("layout", 5, { ...cache, kv_layout: "columns" }));
  map.apply(row("layout", 6, { ...cache, name: "another", kv_layout: "rows" }));
  map.apply(row("layout", 7, { ...cache, buffer: 9n, kv_layout: "rows" }));
  expect(map.lifetimes().map((t) => [t.engine, t.birth_ns, t.kv_layout])).toEqual([["engine", 1n, COLUMNS]]);
  expect(map.counters.unknown_buffers).toBe(2);
});

test("another name of a weight is told of it from its birth on, once, and of no tensor is counted", () => {
  const map = createTensorMap();
  const weight = { name: "token_embd.weight", region_type: "weight" } as const;
  map.apply(row("tensor", 1, weight));
  map.apply(row("tied", 5, { ...weight, name: "output.weight" }));
  map.apply(row("tied", 6, { ...weight, name: "output.weight" }));
  map.apply(row("tied", 7, { ...weight, name: "output.weight", addr: 0x1800n }));
  expect(map.lifetimes().map((t) => [t.name, t.birth_ns, t.death_ns, t.other_names])).toEqual([
    ["token_embd.weight", 1n, null, ["output.weight"]],
  ]);
  expect(map.counters.unknown_buffers).toBe(1);
});

test("a second use of a weight is the output matrix as long as nobody has a name for it, whoever told of the weight", () => {
  const map = createTensorMap();
  const namesNow = () => map.lifetimes().map(({ other_names }) => other_names);
  map.apply(row("file", 1, { name: "embed_tokens.weight", region_type: "weight", addr: 0x1200n }));
  map.apply(row("tied", 5, { addr: 0x1200n, buffer: 0x1200n, buffer_addr: 0x1200n }));
  expect(namesNow()).toEqual([["the output matrix"]]);
  map.apply(row("tied", 6, { name: "lm_head.weight", addr: 0x1200n, buffer: 0x1200n }));
  map.apply(row("tied", 7, { addr: 0x1200n, buffer: 0x1200n }));
  expect(namesNow()).toEqual([["lm_head.weight"]]);
});

test("what lies in a file that was mapped before we looked was born before, and of a new mapping with it", () => {
  const map = createTensorMap();
  const weight = { region_type: "weight", evidence: "file_header" } as const;
  map.apply(row("file", 1, { ...weight, name: "old" }));
  map.apply(row("tensor", 2, { ...weight, name: "new", addr: 0x1200n }));
  expect(map.lifetimes().map(({ name, birth_censored }) => [name, birth_censored])).toEqual([
    ["old", true],
    ["new", false],
  ]);
});

test("what lies in memory of another backend ends nothing at its addresses, and lives until its buffer or its process ends", () => {
  const map = createTensorMap();
  const card = { region_type: "kv_cache", buffer_addr: null, buffer_size_bytes: null } as const;
  map.apply(row("tensor", 1, { name: "a.weight", region_type: "weight" }));
  map.apply(row("elsewhere", 2, { ...card, buffer: 2n, name: "cache_k_l0" }));
  map.apply(row("elsewhere", 3, { ...card, buffer: 3n, name: "cache_v_l0" }));
  map.apply(row("elsewhere", 3, { ...card, buffer: 3n, name: "cache_k_l1", evidence: "engine_graph" }));
  map.apply(row("free", 5, { ...card, buffer: 2n }));
  map.endProcess(100, 9n);
  expect(map.lifetimes()).toMatchObject([{ name: "a.weight", birth_ns: 1n, death_ns: 9n }]);
  expect(map.elsewhere()).toMatchObject([
    { name: "cache_k_l0", birth_ns: 2n, birth_censored: false, death_ns: 5n, ended_by: "free" },
    { name: "cache_v_l0", birth_ns: 3n, death_ns: 9n, ended_by: "exit" },
    { name: "cache_k_l1", birth_ns: 3n, birth_censored: true, death_ns: 9n, ended_by: "exit" },
  ]);
  expect(map.counters).toMatchObject({ bad_rows: 0, unknown_buffers: 0 });
});
