import { expect, test } from "bun:test";
import { FLAT_CACHE, SHARED_BEFORE } from "../../../../src/label/kv/kv-lifecycle.ts";
import { SEVERAL_CACHES } from "../../../../src/label/kv/kv-tokens.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";
import { ROWS } from "../../../../src/regions/kv-layout.ts";
import type { TensorLifetime } from "../../../../src/regions/tensor-map.ts";
import { kvRows } from "../../../fixtures/listed-tokens.ts";

const ENGINE = { pid: 7, engine: "engine" };

function step(kind: string, begin_ns: number, fields: Partial<StepRow> = {}): StepRow {
  const none = { n_tokens: null, n_sequences: null, position_first: null, sequence_id: null, detail: null };
  return { ...none, ...ENGINE, kind, begin_ns, end_ns: begin_ns + 50, result: 0, ...fields };
}

const detail = JSON.stringify({ context: "0xa" });
const batch = (begin_ns: number, position_first: number) =>
  step("decode", begin_ns, { position_first, n_tokens: 1, detail });

function cache(name: string, birth_ns: bigint, cells = 8): TensorLifetime {
  return {
    ...ENGINE,
    name,
    logical_id: name,
    tensor_type: "f16",
    shape: `4x${cells}x1x1`,
    layer: 0,
    addr: 0x10000n,
    size_bytes: BigInt(8 * cells),
    buffer: 1n,
    birth_ns,
    birth_censored: false,
    evidence: "engine_probe",
    region_type: "kv_cache",
    kv_layout: ROWS,
    death_ns: null,
    ended_by: null,
    candidates: null,
  };
}

const STEPS = [step("context", 0, { result: 0xa }), batch(200, 0), batch(300, 1)];

test("a token has a row in each tensor of the context that decoded it, and none in those of one that decodes nothing", () => {
  const idle = step("context", 100, { result: 0xb });
  const rows = kvRows([...STEPS, idle], [cache("mine", 10n), cache("idle", 120n)], 0n);
  expect(rows.tokens.length).toBe(2);
  const used = new Set(rows.roomOf.flatMap((room) => rows.rooms[room] ?? []));
  expect([...used].map((tensor) => rows.tensors[tensor]?.name)).toEqual(["mine"]);
  expect(rows.untold).toBeNull();
});

test("rows of two contexts are told beside a third that decodes nothing, and not where a tensor may be of any", () => {
  const other = (begin_ns: number) =>
    step("decode", begin_ns, { position_first: 0, n_tokens: 1, detail: JSON.stringify({ context: "0xb" }) });
  const made = (begin_ns: number, result: number) => step("context", begin_ns, { result });
  const steps = [made(0, 0xa), made(60, 0xb), made(120, 0xc), batch(200, 0), other(300)];
  const tensors = [cache("a", 10n), cache("b", 70n), cache("c", 130n)];
  const rows = kvRows(steps, tensors, 0n);
  expect([rows.untold, rows.tokens.length]).toEqual([null, 2]);
  expect(rows.tensors.map(({ context }) => context)).toEqual(["0xa", "0xb", null]);
  const open = "a cache tensor does not say of which context it is";
  expect(kvRows(steps, [...tensors, cache("d", 180n)], 0n).untold).toBe(open);
  const meanwhile = [...steps, made(310, 0xd)];
  expect(kvRows(meanwhile, [...tensors, cache("d", 320n)], 0n).untold).toBe(open);
});

test("a call that made no context leaves the rows of the one that decodes, and what it placed is none of its tensors", () => {
  const failed = step("context", 240, { result: 0 });
  const rows = kvRows(
    [...STEPS, failed].toSorted((a, b) => a.begin_ns - b.begin_ns),
    [cache("mine", 10n), cache("gone", 260n)],
    0n,
  );
  expect(rows.tokens.map(({ evict_ns, total_reads }) => [evict_ns, total_reads])).toEqual([
    [null, 1],
    [null, 0],
  ]);
  expect(rows.tensors.map(({ name, context }) => [name, context])).toEqual([
    ["mine", "0xa"],
    ["gone", null],
  ]);
});

test("a context with a pseudonym is not taken for another one than that which was made", () => {
  const hidden = STEPS.map((one) => (one.detail === null ? one : { ...one, detail: '{"context":"n1"}' }));
  const rows = kvRows(hidden, [cache("mine", 10n)], 0n);
  expect(rows.roomOf.map((room) => rows.rooms[room])).toEqual([[0], [0]]);
});

test("no row has a life where tensors of one context have room for different numbers of tokens", () => {
  const rows = kvRows(STEPS, [cache("all", 10n, 8), cache("window", 10n, 4)], 0n);
  expect([[...rows.tokens], rows.untold]).toEqual([[], SEVERAL_CACHES]);
  const later = { ...cache("larger", 60n, 16), addr: 0x20000n };
  expect(kvRows(STEPS, [{ ...cache("all", 10n, 8), death_ns: 60n }, later], 0n).untold).toBeNull();
});

test("no row has a life in a cache of one dimension, which does not say how many tokens it has room for", () => {
  const flat = { ...cache("flat", 10n), shape: "32x1x1x1" };
  const rows = kvRows(STEPS, [flat], 0n);
  expect([[...rows.tokens], rows.tensors, rows.untold, rows.rowless_bytes]).toEqual([[], [], FLAT_CACHE, 64]);
});

test("a context at the address of one that was freed shares its cells as its own tensors say, not as those of the first", () => {
  const one = (kind: string, begin_ns: number, more: object) =>
    step(kind, begin_ns, { sequence_id: 1, detail: JSON.stringify({ context: "0xa", ...more }) });
  const life = (begin_ns: number) => [
    step("context", begin_ns, { result: 0xa }),
    { ...batch(begin_ns + 100, 0), sequence_id: 0 },
    one("kv_copy", begin_ns + 200, { sequence_from: 0, position_from: -1, position_to: -1 }),
    one("context_free", begin_ns + 300, {}),
  ];
  const shared = (birth_ns: bigint) => ({ ...cache("shared", birth_ns), death_ns: birth_ns + 300n });
  const split = (birth_ns: bigint) => ({ ...shared(birth_ns), name: "split", shape: "4x4x2x1" });
  const lives = (...tensors: readonly TensorLifetime[]) =>
    kvRows([...life(0), ...life(1000)], tensors, 0n).tokens.map(({ write_ns, shared_with }) => [write_ns, shared_with]);
  const [together, apart] = [
    (begin_ns: number) => [[begin_ns + 100, [1]]],
    (begin_ns: number) => [
      [begin_ns + 100, []],
      [begin_ns + 200, []],
    ],
  ];
  expect(lives(shared(10n), shared(1010n))).toEqual([...together(0), ...together(1000)]);
  expect(lives(shared(10n), split(1010n))).toEqual([...together(0), ...apart(1000)]);
  expect(lives(split(10n), shared(1010n))).toEqual([...apart(0), ...together(1000)]);
});

test("no row has a life where sequences that were there before have more rows together than their cache has cells: they share some", () => {
  const of = (begin_ns: number, sequence_id: number, position_first: number) => ({
    ...batch(begin_ns, position_first),
    sequence_id,
  });
  const rows = (cells: number, ...steps: readonly StepRow[]) => kvRows(steps, [cache("late", 10n, cells)], 0n);
  const late = [of(200, 0, 5), of(300, 1, 5)];
  expect(rows(12, ...late).tokens.length).toBe(12);
  expect(rows(11, ...late)).toMatchObject({ tokens: [], untold: SHARED_BEFORE });
  // Of one sequence the oldest are written over.
  expect(rows(6, of(200, 0, 5), of(300, 0, 6))).toMatchObject({ untold: null });
  const split = { ...cache("split", 10n), shape: "4x6x2x1" };
  expect(kvRows(late, [split], 0n).untold).toBeNull();
});

test("rows of a context end where another one is made at its address, if nobody saw it freed", () => {
  const again = [step("context", 400, { result: 0xa }), batch(500, 0)];
  const rows = kvRows([...STEPS, ...again], [cache("mine", 10n)], 0n);
  expect(rows.tokens.map(({ write_ns, evict_ns, end }) => [write_ns, evict_ns, end?.by ?? null])).toEqual([
    [200, 400, "cleared"],
    [300, 400, "cleared"],
    [500, null, null],
  ]);
});

test("a token that all tensors lose at one time is told once, though these came one after the other", () => {
  const gone = (name: string, birth_ns: bigint) => ({ ...cache(name, birth_ns), death_ns: 900n });
  const rows = kvRows(STEPS, [gone("k", 10n), gone("v", 20n)], 0n);
  expect(rows.tokens.map(({ evict_ns, end }) => [evict_ns, end?.by])).toEqual([
    [900, "memory_gone"],
    [900, "memory_gone"],
  ]);
  expect(rows.roomOf.map((room) => rows.rooms[room])).toEqual([
    [0, 1],
    [0, 1],
  ]);
});
