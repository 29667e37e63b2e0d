import { describe, expect, test } from "bun:test";
import { decodeCacheWrite } from "../../../../src/engine/pytorch/cache-write.ts";
import type { ModelLayers } from "../../../../src/engine/pytorch/model-layers.ts";
import { staticCaches } from "../../../../src/engine/pytorch/static-caches.ts";
import { nullsOf, type RowOf } from "../../../../src/schema/row.ts";
import { storageBytes, type WriteFields, writeBytes } from "../../../fixtures/torch-writes.ts";

const S = 1_000_000_000n;
const DATA = 0x7f00_0000_0000n;

const TABLE = 0x6000_0000_0000n;

/**
 * A process whose passes write into keys and values of two layers, each in a storage of its own.
 * @param layersNow what the parameters of its model tell by now, which is as many layers as are written unless said
 */
function process(layersNow?: () => ModelLayers | null) {
  const asked: bigint[] = [];
  let written = 0;
  const caches = staticCaches(7, (table, since_ns) => {
    asked.push(table, since_ns);
    return layersNow === undefined ? written / 2 : layersNow();
  });
  const memory = new Map<bigint, Uint8Array>();
  const read = (address: bigint): Uint8Array | null => memory.get(address) ?? null;
  /** Fields of the part of a cache: which cache, which of its four parts. */
  const part = (cache: number, i: number, rest: Partial<WriteFields> = {}): WriteFields => {
    const place = BigInt(4096 * (i + 16 * cache));
    const fields = { structure: 0x1000n + place, data: DATA + place, storageBytes: 4096, runs: [], ...rest };
    memory.set(fields.structure, storageBytes(fields));
    return fields;
  };
  const write = (fields: WriteFields, timestamp_ns: bigint) => {
    const found = decodeCacheWrite(new DataView(writeBytes(fields).buffer), 2n);
    if (found === null || found === "other") throw new Error("no write into a cache");
    const timed = { write: found, timestamp_ns, tid: 8 };
    caches.note(timed);
    return timed;
  };
  const end = (time: bigint, n_tokens: number, writes: readonly ReturnType<typeof write>[], isWhole = true) => {
    const { engine: _, ...nothing } = nullsOf("step");
    const row = { ...nothing, timestamp_ns: time, pid: 7, tid: 8, kind: "decode", n_tokens } as const;
    written = writes.length;
    return caches.endPass(row, writes, isWhole, TABLE).map(told).at(-1);
  };
  return {
    ...{ caches, memory, part, write, end, asked },
    /** A pass of one sequence that writes rows from one on into all parts of a cache. */
    pass(time: bigint, first: number, count: number, cache = 0, parts: readonly number[] = [0, 1, 2, 3]) {
      const writes = parts.map((i) => write(part(cache, i, { runs: [[first, count]] }), time + 1n + BigInt(i)));
      return end(time, count, writes);
    },
    check: (now_ns: bigint, isLast = false) => caches.check(read, () => now_ns, isLast),
    rows: () => caches.takeRows().tensors.map(({ kind, name, addr, timestamp_ns }) => [kind, name, addr, timestamp_ns]),
  };
}

const told = ({
  sequence_id,
  position_first,
  detail,
}: Pick<RowOf<"step">, "sequence_id" | "position_first" | "detail">) => ({
  ...{ sequence_id, position_first },
  ...(JSON.parse(detail ?? "{}") as Record<string, unknown>),
});

const born = (time: bigint, cache = 0) =>
  ["cache_k_l0", "cache_v_l0", "cache_k_l1", "cache_v_l1"].map((name, i) => [
    ...["graph", name, DATA + BigInt(4096 * (i + 16 * cache)), time + 1n + BigInt(i)],
  ]);

describe("a static cache", () => {
  test("is told of with the second pass that writes it, from its first write on", () => {
    const { pass, rows, caches } = process();
    expect(pass(10n, 0, 5)).toMatchObject({ sequence_id: 0, position_first: 0, kv_rows: [[0, 0, 5]] });
    expect(caches.live()).toEqual([]);
    expect(pass(20n, 5, 1)).toMatchObject({ position_first: 5, kv_row_cells: [[5, 1]], context: "0x7f0000000000" });
    expect(rows()).toEqual(born(10n));
    const [keys] = caches.live();
    const layout = { form: "blocks", row_bytes: 64, block_tokens: 64, block_bytes: 4096 } as const;
    expect(keys).toMatchObject({ layer: 0, logical_id: "layer0.k", ne: [16, 64], kv_layout: layout });
  });

  test("has the layers that it had where some of them are written otherwise by now, as those whose window is full", () => {
    const { pass, rows, caches, check } = process();
    pass(10n, 0, 5);
    expect(pass(20n, 5, 1, 0, [2, 3])).toMatchObject({ sequence_id: 0, position_first: 5, context: "0x7f0000000000" });
    expect(pass(30n, 6, 1, 0, [2, 3])).toMatchObject({ sequence_id: 0, position_first: 6 });
    expect(pass(40n, 7, 1, 0, [0, 1])).toMatchObject({ sequence_id: 0, position_first: 7 });
    expect(rows()).toEqual(born(10n));
    check(S);
    expect(caches.live().map(({ layer }) => layer)).toEqual([0, 0, 1, 1]);
    // Another prompt fills its windows at once.
    expect(pass(2n * S, 0, 9, 0, [2, 3])).toMatchObject({ sequence_id: 0, position_first: 0 });
    expect(rows()).toEqual([]);
  });

  const NOTHING = { sequence_id: null, position_first: null };
  const WITHOUT = ["cache_k", "cache_v", "cache_k", "cache_v"].map((name, i) => [
    ...["graph", name, DATA + BigInt(4096 * i), 11n + BigInt(i)],
  ]);
  const MODEL = "the layers of a static KV cache, and its rows, are not identifiable";

  test("of fewer layers than its model has is told without layers and rows: where a window is filled at once, the others are written alone", () => {
    const { pass, rows, caches } = process(() => 4);
    expect(pass(10n, 0, 40)).toEqual(NOTHING);
    const { steps } = caches.takeRows();
    expect(steps.at(-1)).toMatchObject({ detail: JSON.stringify({ settings: { kv_caches: 2 } }), timestamp_ns: 11n });
    expect(pass(20n, 40, 1)).toEqual(NOTHING);
    expect(rows()).toEqual(WITHOUT);
    const facts = caches.live().map(({ layer, logical_id, region_type }) => [layer, logical_id, region_type]);
    expect(facts).toEqual(Array.from({ length: 4 }, () => [null, null, "kv_cache"]));
    expect(caches.untold()).toEqual([`${MODEL}: 2 layers were seen to be written, and its model has 4`]);
    // Its windows are not filled at once by a shorter prompt.
    expect(pass(30n, 0, 5, 0, [4, 5, 0, 1, 6, 7, 2, 3])).toMatchObject({ sequence_id: 1, position_first: 0 });
    pass(40n, 5, 1, 0, [4, 5, 0, 1, 6, 7, 2, 3]);
    expect(caches.live().map(({ layer }) => layer)).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
    expect(rows().map(([kind]) => kind)).toEqual([...Array(4).fill("free"), ...Array(8).fill("graph")]);
  });

  test("of more layers than its model has is told without them", () => {
    const { pass, rows, caches } = process(() => 1);
    pass(10n, 0, 5);
    expect(pass(20n, 5, 1)).toEqual(NOTHING);
    expect(rows()).toEqual(WITHOUT);
    expect(caches.takeRows().steps.some(({ detail }) => detail?.includes('"kv_caches":2'))).toBe(false);
  });

  test("is told once it is known how many layers its model has, with all that its passes wrote until then, also where it is gone by then", () => {
    let layers: number | null = null;
    const { pass, rows, caches, check, memory, asked } = process(() => layers);
    expect([pass(10n, 0, 5), pass(20n, 5, 1), pass(30n, 0, 5, 1), pass(40n, 5, 1, 1)]).toEqual([
      ...Array.from({ length: 4 }, () => undefined),
    ]);
    expect(caches.live().map(({ name, layer }) => [name, layer])).toEqual(
      ["cache_k", "cache_v", "cache_k", "cache_v", "cache_k", "cache_v", "cache_k", "cache_v"].map((name) => [
        ...[name, null],
      ]),
    );
    check(S);
    memory.delete(0x2000n);
    check(2n * S);
    check(3n * S);
    expect([caches.live().length, rows(), caches.untold()]).toEqual([4, [], []]);
    expect(caches.settle()).toEqual([]);
    layers = 2;
    asked.length = 0;
    const steps = caches.settle();
    expect(asked).toEqual([TABLE, 11n, TABLE, 31n]);
    expect(steps.map(told).map(({ sequence_id, position_first }) => [sequence_id, position_first])).toEqual([
      ...[
        [0, 0],
        [0, 5],
        [1, 0],
        [1, 5],
      ],
    ]);
    const gone = Array.from({ length: 4 }, (_, i) => ["free", null, DATA + BigInt(4096 * i), S]);
    expect(rows()).toEqual([...born(10n), ...gone, ...born(30n, 1)]);
    expect(caches.live().map(({ layer }) => layer)).toEqual([0, 0, 1, 1]);
    expect(pass(50n, 6, 1, 1)).toMatchObject({ sequence_id: 1, position_first: 6 });
  });

  test.each([
    ["where that cannot be known", () => ({ untold: "there is no Python" }), ": there is no Python"],
    ["where that is not known until nothing more is seen", () => null, ""],
  ])("is told without layers and rows %s", (_, layersNow, why) => {
    const { pass, rows, caches } = process(layersNow);
    pass(10n, 0, 5);
    pass(20n, 5, 1);
    const steps = caches.flush().map(told);
    expect(steps.every(({ position_first }) => position_first === null)).toBe(true);
    expect(rows()).toEqual(WITHOUT);
    expect(caches.untold().map((text) => text.startsWith(`${MODEL}: `) && text.endsWith(why))).toEqual([true]);
    expect(pass(30n, 6, 1)).toEqual(NOTHING);
  });

  test("stays as it is with a pass that was cut, which has rows where it wrote all that the one before it did", () => {
    const { pass, part, write, end, caches } = process();
    pass(10n, 0, 5);
    pass(20n, 5, 1);
    const writes = [0, 1, 2, 3].map((i) => write(part(0, i, { runs: [[6, 1]] }), 31n));
    expect(end(30n, 1, writes.slice(0, 2), false)).toEqual({ sequence_id: null, position_first: null });
    expect(caches.live()).toHaveLength(4);
    expect(end(30n, 1, writes, false)).toMatchObject({ sequence_id: 0, position_first: 6 });
  });

  test("that has rows from before is told of with the pass in which it was first seen, once the next says so", () => {
    const { pass, rows, caches } = process();
    expect(pass(10n, 40, 1)).toBeUndefined();
    expect(pass(20n, 41, 1)).toMatchObject({ position_first: 41 });
    expect(rows()).toEqual(born(10n));
    expect(caches.flush()).toEqual([]);
    const late = process();
    late.pass(10n, 40, 1);
    expect(late.caches.flush().map(told)).toEqual([{ sequence_id: null, position_first: null }]);
  });

  test("has a sequence of its own for each of its batch, with rows behind those of the one before", () => {
    const { part, write, end } = process();
    const sizes = [2, 2, 64, 4];
    const writes = [0, 1].map((i) => write(part(0, i, { sizes, runs: [[0, 5]] }), 11n));
    expect(end(10n, 10, writes)).toMatchObject({
      ...{ sequence_id: null, position_first: null },
      kv_rows: [
        [0, 0, 5],
        [1, 0, 5],
      ],
      kv_row_cells: [
        [0, 5],
        [64, 5],
      ],
    });
  });

  test("ends when it was last known to be there, once its storage is another", () => {
    const { pass, check, rows, memory, caches } = process();
    pass(10n, 0, 5);
    pass(20n, 5, 1);
    check(S);
    memory.set(0x2000n, new Uint8Array(56));
    // Not looked at again so soon.
    check(S + 1n);
    expect(caches.live()).toHaveLength(4);
    rows();
    check(2n * S);
    expect(caches.live()).toEqual([]);
    expect(rows()).toEqual([]);
    check(2n * S + 1n);
    expect(rows().map(([kind, , , time]) => [kind, time])).toEqual(Array.from({ length: 4 }, () => ["free", S]));
  });

  test("that is gone once nobody looks any more was last there at the last look, however short ago the one before was", () => {
    const { pass, check, rows, memory, caches } = process();
    pass(10n, 0, 5);
    pass(20n, 5, 1);
    check(S);
    check(S + 1n, true);
    rows();
    memory.set(0x2000n, new Uint8Array(56));
    check(S + 2n, true);
    caches.flush();
    expect(rows().map(([kind, , , time]) => [kind, time])).toEqual(Array.from({ length: 4 }, () => ["free", S + 1n]));
  });

  test("that is gone before its last pass is over has the rows of that pass, and the next one is another", () => {
    const { pass, part, write, end, check, memory, rows } = process();
    pass(10n, 0, 5);
    pass(20n, 5, 1);
    const writes = [0, 1, 2, 3].map((i) => part(0, i, { runs: [[6, 1]] }));
    memory.clear();
    check(S);
    // Its records come after the look, of a time before it.
    const last = writes.map((one) => write(one, 31n));
    check(S + 1n);
    expect(end(30n, 1, last)).toMatchObject({ sequence_id: 0, position_first: 6 });
    expect(rows().at(-1)).toEqual(["free", null, DATA + 3n * 4096n, 31n]);
    expect(pass(2n * S, 0, 5)).toMatchObject({ sequence_id: 1 });
    expect(rows()).toEqual([]);
    pass(3n * S, 5, 1);
    expect(rows()).toEqual(born(2n * S));
  });

  test("over which another comes to lie is gone, whether it was looked at or not", () => {
    const { pass, part, write, end, rows } = process();
    pass(10n, 0, 5);
    pass(20n, 5, 1);
    rows();
    for (const [time, first] of [
      [30n, 0],
      [40n, 1],
    ] as const) {
      const writes = [0, 1].map((i) => {
        const place = { structure: 0x9000n + BigInt(i), data: DATA + BigInt(64 + 4096 * i) };
        return write(part(0, i, { ...place, runs: [[first, 1]] }), time);
      });
      expect(end(time, 1, writes)).toMatchObject({ sequence_id: 1 });
    }
    expect(rows().map(([kind, , , time]) => [kind, time])).toEqual([
      ...Array.from({ length: 4 }, () => ["free", 21n]),
      ...Array.from({ length: 2 }, () => ["graph", 30n]),
    ]);
  });

  test("in whose place the first tensor of another comes to lie was not there when that was written", () => {
    const { pass, part, write, end, rows } = process();
    pass(10n, 0, 5);
    pass(20n, 5, 1);
    rows();
    for (const [time, runs] of [
      [30n, [[0, 5]]],
      [40n, [[5, 1]]],
    ] as const) {
      const places = [part(0, 0, { runs }), part(0, 1, { runs }), part(1, 2, { runs }), part(1, 3, { runs })];
      const writes = places.map((place, i) => write(place, time + 1n + BigInt(i)));
      expect(end(time, time === 30n ? 5 : 1, writes)).toMatchObject({ sequence_id: 1 });
    }
    expect(rows().map(([kind, , , time]) => [kind, time])).toEqual([
      ...Array.from({ length: 4 }, () => ["free", 21n]),
      ...[31n, 32n, 33n, 34n].map((time) => ["graph", time]),
    ]);
  });

  test("that is filled again has the same sequence, from its first row on", () => {
    const { pass, caches } = process();
    pass(10n, 0, 5);
    pass(20n, 5, 1);
    expect(pass(30n, 0, 5)).toMatchObject({ sequence_id: 0, position_first: 0 });
    expect(caches.live()).toHaveLength(4);
  });

  test("is none that leaves rows out, as where beams take another memory for each token by turns", () => {
    const { pass, rows, caches } = process();
    const nothing = { sequence_id: null, position_first: null };
    pass(10n, 0, 5);
    expect(pass(20n, 5, 1, 1)).toBeUndefined();
    expect(pass(30n, 6, 1)).toEqual(nothing);
    expect(pass(40n, 7, 1, 1)).toEqual(nothing);
    expect(caches.flush().map(told)).toEqual([nothing]);
    expect(rows()).toEqual([]);
  });

  test("beside which others are written is told without them, such as what an encoder read", () => {
    const { pass, part, write, end, rows } = process(() => 1);
    const writes = [
      ...[0, 1].map((i) => write(part(0, i, { runs: [[0, 5]] }), 11n)),
      ...[4, 5].map((i) => write(part(0, i, { runs: [[0, 9]] }), 12n)),
    ];
    expect(end(10n, 5, writes)).toMatchObject({ kv_rows: [[0, 0, 5]] });
    pass(20n, 5, 1, 0, [0, 1]);
    expect(rows()).toHaveLength(2);
  });

  test.each([
    ["keys without values", [0, 1, 2]],
    ["one tensor twice", [0, 0]],
  ])("is none with %s", (_, parts) => {
    const { pass, rows } = process();
    expect(pass(10n, 0, 5, 0, parts)).toEqual({ sequence_id: null, position_first: null });
    pass(20n, 5, 1, 0, parts);
    expect(rows()).toEqual([]);
  });

  test("says once of how many sizes its layers are", () => {
    const { part, write, end, caches } = process();
    for (const time of [10n, 20n]) {
      const timed = (sizes: readonly number[], i: number) => write(part(0, i, { sizes, runs: [[0, 1]] }), time);
      end(time, 1, [
        timed([1, 2, 64, 8], 0),
        timed([1, 2, 64, 8], 1),
        timed([1, 2, 32, 8], 2),
        timed([1, 2, 32, 8], 3),
      ]);
    }
    const { steps } = caches.takeRows();
    expect(steps.map(({ detail }) => detail)).toEqual([JSON.stringify({ settings: { kv_caches: 2 } })]);
  });
});
