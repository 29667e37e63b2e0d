import { describe, expect, test } from "bun:test";
import { decodeCacheAppend } from "../../../../src/engine/pytorch/cache-append.ts";
import type { ModelLayers } from "../../../../src/engine/pytorch/model-layers.ts";
import { layersOfCaches } from "../../../../src/engine/pytorch/moved-layers.ts";
import { movingCaches, type TimedAppend } from "../../../../src/engine/pytorch/moving-caches.ts";
import { sequenceNumbers } from "../../../../src/engine/pytorch/sequence-numbers.ts";
import { type AppendFields, appendBytes } from "../../../fixtures/torch-appends.ts";
import { storageBytes } from "../../../fixtures/torch-writes.ts";

const S = 1_000_000_000n;
const NAMES = ["cache_k_l0", "cache_v_l0", "cache_k_l1", "cache_v_l1"];

const TABLE = 1n;

/** What the model is known to be: how many layers it has, and what the weights are called that a pass uses before and behind each of its parts. */
interface Model {
  layers: ModelLayers | null;
  names?: readonly string[];
}

/** A process whose passes move keys and values of two layers. */
function process(mostMoves?: number, model: Model = { layers: 2 }) {
  const nameAt = (addr: bigint): string | null =>
    addr === TABLE ? "model.embed.weight" : model.names?.[Number(addr) - 16] || null;
  const layers = layersOfCaches(() => model.layers, nameAt);
  const moving = movingCaches(7, layers, sequenceNumbers(), mostMoves);
  const endPass = (tokens: number, appends: readonly TimedAppend[], isWhole = true) =>
    moving.endPass(tokens, appends, isWhole, TABLE);
  const caches = { ...moving, endPass };
  const memory = new Map<bigint, Uint8Array>();
  /** The structure of a part of a cache after so many passes; its bytes lie at the same place of another memory. */
  const structure = (pass: number, i: number, cache = 0): bigint => BigInt(0x1000 + 64 * (i + 4 * pass + 1024 * cache));
  const dataOf = (pass: number, i: number, cache = 0): bigint => 2n ** 40n + 2n ** 20n * structure(pass, i, cache);
  /** Where the weights lie that are used around it, a pair for each layer. */
  const around = (i: number) => {
    const first = 16n + BigInt(i - (i % 2));
    return i < (model.names?.length ?? 0) ? { before: first, behind: first + 1n } : { before: null, behind: null };
  };
  const append = (fields: AppendFields, timestamp_ns: bigint, i = 0) => {
    const found = decodeCacheAppend(new DataView(appendBytes(fields).buffer), 2n);
    if (found === null || found === "other") throw new Error("nothing of a cache");
    const timed = { append: found, timestamp_ns, tid: 8, multiplied: around(i) };
    caches.note(timed);
    memory.set(fields.structure, storageBytes(fields));
    return timed;
  };
  const part = (pass: number, i: number, cache = 0, rest: Partial<AppendFields> = {}): AppendFields => ({
    ...{ before: pass === 0 ? null : structure(pass - 1, i, cache), structure: structure(pass, i, cache) },
    ...{ data: dataOf(pass, i, cache), sizes: [1, 2, 5 + pass, 8], count: 1, ...rest },
  });
  const look = (now_ns: bigint, isLast = false): void =>
    caches.check(
      (address) => memory.get(address) ?? null,
      () => now_ns,
      isLast,
    );
  return {
    ...{ caches, memory, part, append, structure },
    /** A pass that puts a row behind those of all parts; the first has five. */
    pass(pass: number, time: bigint, parts: readonly number[] = [0, 1, 2, 3], cache = 0) {
      const appends = parts.map((i) => append(part(pass, i, cache), time + BigInt(i), i));
      return caches.endPass(pass === 0 ? 5 : 1, appends);
    },
    ...{ look, check: (now_ns: bigint) => look(now_ns) },
    steps: () =>
      caches.takeRows().steps.map(({ kind, timestamp_ns, detail }) => [kind, timestamp_ns, JSON.parse(detail ?? "")]),
    rows: () => caches.takeRows().tensors.map(({ kind, name, addr, timestamp_ns }) => [kind, name, addr, timestamp_ns]),
    born: (pass: number, time: bigint, cache = 0) =>
      NAMES.map((name, i) => ["tensor", name, dataOf(pass, i, cache), time + BigInt(i)]),
    gone: (pass: number, time: bigint, each: bigint, cache = 0) =>
      NAMES.map((_, i) => ["free", null, dataOf(pass, i, cache), time + each * BigInt(i)]),
  };
}
const byKind = (rows: readonly unknown[][]): unknown[][] => rows.toSorted(([a], [b]) => `${a}`.localeCompare(`${b}`));

describe("a cache that moves", () => {
  test("is told of with the second pass, from the first on, and each place of it until the next pass begins to move it", () => {
    const { pass, rows, born, gone } = process();
    pass(0, 10n);
    expect(rows()).toEqual([]);
    pass(1, 20n);
    expect(byKind(rows())).toEqual([...gone(0, 20n, 1n), ...born(0, 10n), ...born(1, 20n)]);
    pass(2, 30n);
    expect(byKind(rows())).toEqual([...gone(1, 30n, 1n), ...born(2, 30n)]);
  });

  test("has a layer, a shape and a size by what was put together", () => {
    const { pass, caches } = process();
    pass(0, 10n);
    pass(1, 20n);
    const [first] = caches.takeRows().tensors.filter(({ name }) => name === "cache_v_l1");
    const facts = { layer: 1, logical_id: "layer1.v", region_type: "kv_cache", shape: "16x5", evidence: "operand" };
    expect(first).toMatchObject({ ...facts, size_bytes: 320n, kv_row_bytes: 64, kv_block_tokens: 5 });
  });

  test("that was there before it was seen is told of with the second pass that is", () => {
    const { pass, rows, born, gone } = process();
    pass(7, 10n);
    pass(8, 20n);
    expect(byKind(rows())).toEqual([...gone(7, 20n, 1n), ...born(7, 10n), ...born(8, 20n)]);
  });

  test("is none where the tokens of the pass are others, or keys have no values, or a part comes twice", () => {
    const { pass, part, append, caches, rows } = process();
    pass(0, 10n, [0, 1, 2]);
    pass(1, 20n, [0, 1, 2]);
    caches.endPass(
      4,
      [0, 1].map((i) => append(part(0, i, 1), 30n)),
    );
    caches.endPass(
      1,
      [0, 1].map((i) => append(part(1, i, 1), 40n)),
    );
    for (const n of [0, 1]) {
      const twice = [0, 0].map(() => append(part(n, 0, 2), 50n));
      caches.endPass(n === 0 ? 5 : 1, twice);
    }
    expect(rows()).toEqual([]);
  });

  test("of which a pass moves parts only, or in another order, ends when it was last known to be there", () => {
    for (const parts of [
      [0, 1],
      [2, 3, 0, 1],
    ]) {
      const { pass, rows, gone } = process();
      pass(0, 10n);
      pass(1, 20n);
      rows();
      pass(2, 30n, parts);
      expect(rows()).toEqual(gone(1, 23n, 0n));
    }
  });

  test("that was cropped, or keeps a window only, goes on in the storage that it has", () => {
    const { pass, part, append, caches, rows, born, gone } = process();
    pass(0, 10n);
    pass(1, 20n);
    rows();
    const cropped = [0, 1, 2, 3].map((i) => append(part(2, i, 0, { sizes: [1, 2, 4, 8] }), 30n + BigInt(i)));
    caches.endPass(1, cropped);
    expect(byKind(rows())).toEqual([...gone(1, 30n, 1n), ...born(2, 30n)]);
  });

  test("ends when it was last known to be there, once its storage is another", () => {
    const { pass, check, rows, memory, gone } = process();
    pass(0, 10n);
    pass(1, 20n);
    rows();
    check(S);
    memory.clear();
    // Not looked at again so soon.
    check(S + 1n);
    check(2n * S);
    expect(rows()).toEqual([]);
    check(2n * S + 1n);
    expect(rows()).toEqual(gone(1, S, 0n));
  });

  test("that is gone from its place once nobody sees passes any more was last there at the last look, and its rows may go on", () => {
    const { pass, look, rows, memory, caches, gone } = process();
    pass(0, 10n);
    pass(1, 20n);
    look(S);
    look(S + 1n, true);
    caches.takeRows();
    caches.flush(false);
    memory.clear();
    caches.leave((address) => memory.get(address) ?? null);
    const { tensors, steps } = caches.takeRows();
    const freed: unknown[][] = tensors.map(({ kind, addr, timestamp_ns }) => [kind, null, addr, timestamp_ns]);
    expect(freed).toEqual(gone(1, S + 1n, 0n));
    expect(steps).toEqual([]);
    caches.flush(false);
    expect(rows()).toEqual([]);
  });

  test("that a pass has moved since it was looked at goes on", () => {
    const { pass, part, append, check, caches, rows, memory, born, gone } = process();
    pass(0, 10n);
    pass(1, 20n);
    rows();
    memory.clear();
    check(S);
    // Its records come after the look, of a time before it.
    const appends = [0, 1, 2, 3].map((i) => append(part(2, i), 30n + BigInt(i)));
    check(S + 1n);
    check(2n * S);
    check(2n * S + 1n);
    expect(rows()).toEqual([]);
    caches.endPass(1, appends);
    expect(byKind(rows())).toEqual([...gone(1, 30n, 1n), ...born(2, 30n)]);
  });

  test("whose pass never ends is looked at again after a minute", () => {
    const { pass, part, append, check, rows, memory, gone } = process();
    pass(0, 10n);
    pass(1, 20n);
    rows();
    append(part(2, 0), 30n);
    memory.clear();
    check(61n * S);
    check(62n * S);
    expect(rows()).toEqual(gone(1, 23n, 0n));
  });

  test("whose storage another one gets was gone by then", () => {
    const { pass, part, append, caches, rows, structure, gone } = process();
    pass(0, 10n);
    pass(1, 20n);
    rows();
    const others = [0, 1, 2, 3].map((i) => append(part(0, i, 1, { structure: structure(1, i) }), S));
    caches.endPass(5, others);
    expect(rows()).toEqual(gone(1, 23n, 0n));
  });

  test("ends with its process when it was last known to be there, and not with the run", () => {
    const { pass, caches, rows, check, gone } = process();
    pass(0, 10n);
    pass(1, 20n);
    rows();
    check(S);
    caches.flush(false);
    expect(rows()).toEqual([]);
    caches.flush(true);
    expect(rows()).toEqual(gone(1, S, 0n));
  });

  test("is followed for so many moves, and why no more is said", () => {
    const { pass, caches, rows, gone } = process(16);
    for (const n of [0, 1, 2]) pass(n, 10n * BigInt(n));
    expect(caches.untold()).toEqual([]);
    pass(3, 30n);
    expect(caches.untold()[0]).toContain("was followed for 16 moves of its parts");
    rows();
    pass(4, 40n);
    expect(rows()).toEqual(gone(3, 40n, 1n));
    pass(5, 50n);
    expect(rows()).toEqual([]);
  });
});

const detailOf = ({ detail }: { readonly detail?: string | null }) => JSON.parse(detail ?? "{}");

const Q = "model.layers.2.attn.v_proj.weight";
const OUT = "model.layers.2.attn.o_proj.weight";
const LATER_Q = "model.layers.5.attn.v_proj.weight";
const LATER_OUT = "model.layers.5.attn.o_proj.weight";
const UNTOLD = ["cache_k", "cache_v", "cache_k", "cache_v"];

describe("the layers of a cache that moves", () => {
  const born = ({ caches }: ReturnType<typeof process>) =>
    caches.takeRows().tensors.filter(({ kind }) => kind === "tensor");

  test("are those of the weights that are used before and behind them, where others of the model move nothing", () => {
    const moving = process(undefined, { layers: 6, names: [Q, OUT, LATER_Q, LATER_OUT] });
    moving.pass(0, 10n);
    const told = detailOf(moving.pass(1, 20n));
    expect([told.moved_layers, told.moved_numbers]).toEqual([2, [2, 5]]);
    const names = ["cache_k_l2", "cache_v_l2", "cache_k_l5", "cache_v_l5"];
    const rows = born(moving);
    expect(rows.map(({ name }) => name)).toEqual([...names, ...names]);
    expect(rows.slice(2, 4).map(({ layer, logical_id }) => [layer, logical_id])).toEqual([
      [5, "layer5.k"],
      [5, "layer5.v"],
    ]);
    expect(moving.caches.untold()).toEqual([]);
  });

  test.each([
    ["no weights are seen beside them", []],
    ["the weights beside them have no names", ["", "", "", ""]],
    ["a name has no number", [Q, OUT, "model.norm.weight", LATER_OUT]],
    ["those before and behind are of two layers", [Q, OUT, OUT, LATER_OUT]],
    ["two have the same weights", [Q, OUT, Q, OUT]],
    ["they come in another order", [LATER_Q, LATER_OUT, Q, OUT]],
    ["they are of two lists of modules", [Q, OUT, "model.blocks.5.v.weight", "model.blocks.5.o.weight"]],
  ])("are not told where others of the model move nothing, and %s", (_, names) => {
    const moving = process(undefined, { layers: 6, names });
    moving.pass(0, 10n);
    expect(detailOf(moving.pass(1, 20n))).toMatchObject({ moved_layers: 2, moved_numbers: null });
    const rows = born(moving);
    expect(rows.map(({ name }) => name)).toEqual([...UNTOLD, ...UNTOLD]);
    expect(rows.some(({ layer, logical_id }) => layer !== null || logical_id !== null)).toBe(false);
    expect(moving.caches.untold()).toEqual([
      "the layers of a dynamic KV cache are not identifiable: 2 layers were seen to be moved, its model has 6, and the weights that are used beside do not tell which",
    ]);
  });

  test("are those of a model that has no others, by their order, whatever is used beside them", () => {
    const moving = process(undefined, { layers: 2, names: [Q, OUT, Q, OUT] });
    moving.pass(0, 10n);
    expect(detailOf(moving.pass(1, 20n))).not.toHaveProperty("moved_numbers");
    expect(born(moving).map(({ name }) => name)).toEqual([...NAMES, ...NAMES]);
  });

  test("are told of all its blocks, and of its rows, once they are known", () => {
    const model: Model = { layers: null, names: ["", "", "", ""] };
    const moving = process(undefined, model);
    expect(detailOf(moving.pass(0, 10n)).moved_numbers).toBeNull();
    expect(detailOf(moving.pass(1, 20n)).moved_numbers).toBeNull();
    expect(moving.caches.takeRows()).toEqual({ tensors: [], steps: [] });
    model.names = [Q, OUT, LATER_Q, LATER_OUT];
    moving.caches.settle();
    const { tensors, steps } = moving.caches.takeRows();
    const places = tensors.map(({ kind, name, addr, timestamp_ns }) => [kind, name, addr, timestamp_ns]);
    const named = [...moving.born(0, 10n), ...moving.born(1, 20n)].map(([kind, name, ...place]) => [
      kind,
      `${name}`.replace("l0", "l2").replace("l1", "l5"),
      ...place,
    ]);
    expect(byKind(places)).toEqual([...moving.gone(0, 20n, 1n), ...named]);
    const detail = JSON.stringify({ moved_cache: [0], moved_numbers: [2, 5] });
    expect(steps).toMatchObject([{ kind: "engine", timestamp_ns: 10n, detail }]);
    expect(detailOf(moving.pass(2, 30n)).moved_numbers).toEqual([2, 5]);
    expect(moving.caches.takeRows().steps).toEqual([]);
  });

  test("stay untold where they are not known by the end, and where a reason is", () => {
    const late = process(undefined, { layers: null });
    const unread = process(undefined, { layers: { untold: "its Python is another one" } });
    for (const moving of [late, unread]) for (const n of [0, 1]) moving.pass(n, 10n * BigInt(n + 1));
    late.caches.flush(false);
    for (const [moving, why] of [
      [late, "nothing more was seen before it was known which layers of its model it has"],
      [unread, "its Python is another one"],
    ] as const) {
      const { tensors, steps } = moving.caches.takeRows();
      expect(tensors.filter(({ kind }) => kind === "tensor").map(({ name }) => name)).toEqual([...UNTOLD, ...UNTOLD]);
      expect(steps).toEqual([]);
      expect(moving.caches.untold()).toEqual([`the layers of a dynamic KV cache are not identifiable: ${why}`]);
    }
  });
});

describe("the rows of a cache that moves", () => {
  test("are told with every pass: whose they are, how many are kept and how many come behind them", () => {
    const { pass } = process();
    const alike = { moved_sequences: [0, 1], moved_layers: 2, moved_bytes: [[64, 64]] };
    const first = pass(0, 10n);
    expect([first.sequence_id, first.position_first]).toEqual([0, 0]);
    expect(detailOf(first)).toEqual({ moved_cache: [0, 0], ...alike, moved_rows: [[0, 0, 5]] });
    const second = pass(1, 20n);
    expect([second.sequence_id, second.position_first]).toEqual([0, 5]);
    expect(detailOf(second)).toEqual({ moved_cache: [0, 1], ...alike, moved_rows: [[0, 5, 1]] });
  });

  test("of a layer that looks back over a window are those that it keeps, at the positions of the others", () => {
    const { pass, part, append, caches } = process();
    pass(0, 10n);
    const windows = [0, 1, 2, 3].map((i) => {
      const kept = i < 2 ? {} : { sizes: [1, 2, 4, 8], offset: 16 };
      return append(part(1, i, 0, kept), 20n + BigInt(i));
    });
    const told = caches.endPass(1, windows);
    expect(told.position_first).toBe(5);
    expect(detailOf(told).moved_rows).toEqual([
      [0, 5, 1],
      [2, 3, 1],
    ]);
  });

  test("that were cut off are not kept, and the next ones come at their positions", () => {
    const { pass, part, append, caches } = process();
    pass(0, 10n);
    pass(1, 20n);
    const cropped = [0, 1, 2, 3].map((i) => append(part(2, i, 0, { sizes: [1, 2, 4, 8] }), 30n + BigInt(i)));
    const told = caches.endPass(1, cropped);
    expect([told.position_first, detailOf(told).moved_rows]).toEqual([3, [[0, 3, 1]]]);
  });

  test("are none of what keeps more than the pass before left", () => {
    const { pass, part, append, caches, steps } = process();
    pass(0, 10n);
    pass(1, 20n);
    const more = [0, 1, 2, 3].map((i) => append(part(2, i, 0, { sizes: [1, 2, 9, 8] }), 30n + BigInt(i)));
    expect(caches.endPass(1, more)).toEqual({});
    caches.flush(false);
    expect(steps()).toEqual([["kv_free", 23n, { moved_cache: [0], is_lost: true }]]);
  });

  test("have no end where their last pass was cut, and where they lay is told no longer", () => {
    const { pass, part, append, caches, rows, steps, gone } = process();
    pass(0, 10n);
    pass(1, 20n);
    rows();
    const cut = [0, 1].map((i) => append(part(2, i), 30n + BigInt(i)));
    expect(caches.endPass(1, cut, false)).toEqual({});
    expect(rows()).toEqual(gone(1, 23n, 0n));
    caches.flush(false);
    expect(steps()).toEqual([]);
  });

  test("end with their memory", () => {
    const { pass, check, caches, memory, steps } = process();
    pass(0, 10n);
    pass(1, 20n);
    check(S);
    memory.clear();
    check(2n * S);
    check(3n * S);
    // Until a minute has gone by, another cache may be this one.
    expect(steps()).toEqual([]);
    check(62n * S);
    expect(steps()).toEqual([["kv_free", S, { moved_cache: [0] }]]);
    caches.flush(true);
    expect(steps()).toEqual([]);
  });

  test("end with their process when they were last known to be there, and not with the run", () => {
    for (const isGone of [false, true]) {
      const { pass, caches, steps } = process();
      pass(0, 10n);
      pass(1, 20n);
      caches.flush(isGone);
      expect(steps()).toEqual(isGone ? [["kv_free", 23n, { moved_cache: [0] }]] : []);
    }
  });

  test("have no end that is known where a cache of their shape comes from nowhere before or behind it", () => {
    for (const isSeenFirst of [true, false]) {
      const { pass, check, caches, memory, steps } = process();
      pass(0, 10n);
      pass(1, 20n);
      memory.clear();
      const goes = () => {
        check(S);
        check(2n * S);
      };
      if (isSeenFirst) goes();
      pass(7, S, [0, 1, 2, 3], 1);
      if (!isSeenFirst) goes();
      caches.flush(false);
      expect(steps()).toEqual([["kv_free", 23n, { moved_cache: [0], is_lost: true }]]);
    }
  });

  test("go on where another cache gets the structures that a pass has moved them from, before it is over", () => {
    const { pass, part, append, caches, structure } = process();
    pass(0, 10n);
    pass(1, 20n);
    const begun = [0, 1].map((i) => append(part(2, i), 30n + BigInt(i)));
    const others = [0, 1, 2, 3].map((i) =>
      append(part(0, i, 1, i < 2 ? { structure: structure(1, i) } : {}), 40n + BigInt(i)),
    );
    caches.endPass(5, others);
    const rest = [2, 3].map((i) => append(part(2, i), 50n + BigInt(i)));
    expect(detailOf(caches.endPass(1, [...begun, ...rest])).moved_cache).toEqual([0, 2]);
  });

  test("are told on where so many moves are that their places are not", () => {
    const { pass, rows } = process(8);
    for (const n of [0, 1, 2]) pass(n, 10n * BigInt(n));
    rows();
    expect(detailOf(pass(3, 30n)).moved_cache).toEqual([0, 3]);
    expect(rows()).toEqual([]);
  });
});
