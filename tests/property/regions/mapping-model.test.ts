import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createProcessMaps } from "../../../src/regions/mapping-events.ts";
import type { MappingEvent, MappingRow } from "../../../src/regions/mapping-row.ts";
import { mappingRow, mmap, mprotect, mremap, munmap, page } from "../../fixtures/mapping-rows.ts";
import { recordedMaps } from "../../fixtures/recorded-maps.ts";

const SPACE = 48;
const HEAP = 64;

interface PageModel {
  prot: number;
  birth: number;
}
/** The naive map: one entry per page, and the sum over dead pages of how long they lived. */
interface Model {
  pages: Map<number, PageModel>;
  lived: number;
  brk: number;
}

type Call =
  | { kind: "mmap" | "munmap"; from: number; pages: number; prot: number }
  | { kind: "mprotect"; from: number; pages: number; prot: number }
  | { kind: "mremap"; from: number; pages: number; to: number; newPages: number; dontUnmap: boolean }
  | { kind: "brk"; to: number };

const pagesOf = fc.integer({ min: 1, max: 10 });
const from = fc.integer({ min: 0, max: SPACE - 10 });
const prot = fc.integer({ min: 0, max: 7 });
const call: fc.Arbitrary<Call> = fc.oneof(
  fc.record({ kind: fc.constantFrom("mmap" as const, "munmap" as const), from, pages: pagesOf, prot }),
  fc.record({ kind: fc.constant("mprotect" as const), from, pages: pagesOf, prot }),
  fc.record({
    kind: fc.constant("mremap" as const),
    from,
    pages: pagesOf,
    to: from,
    newPages: pagesOf,
    dontUnmap: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("brk" as const), to: fc.integer({ min: 0, max: 12 }) }),
);

function end(model: Model, n: number, time: number): void {
  const old = model.pages.get(n);
  if (old) model.lived += time - old.birth;
  model.pages.delete(n);
}
function put(model: Model, n: number, value: PageModel, time: number): void {
  end(model, n, time);
  model.pages.set(n, value);
}

/** Applies a call to the model. @returns the rows that tell it, none when the kernel would refuse it */
function step(model: Model, c: Call, time: number): MappingEvent[] {
  const range = (start: number, count: number): number[] => Array.from({ length: count }, (_, i) => start + i);
  switch (c.kind) {
    case "mmap":
      for (const n of range(c.from, c.pages)) put(model, n, { prot: c.prot, birth: time }, time);
      return [mmap(time, c.from, c.pages, c.prot)];
    case "munmap":
      for (const n of range(c.from, c.pages)) end(model, n, time);
      return [munmap(time, c.from, c.pages)];
    case "mprotect": {
      const whole = range(c.from, c.pages);
      if (!whole.every((n) => model.pages.has(n))) return [];
      for (const n of whole) (model.pages.get(n) as PageModel).prot = c.prot;
      return [mprotect(time, c.from, c.pages, c.prot)];
    }
    case "mremap": {
      const whole = range(c.from, c.pages);
      if (!whole.every((n) => model.pages.has(n))) return [];
      const tail = model.pages.get(c.from + c.pages - 1) as PageModel;
      const grown = { prot: tail.prot, birth: time };
      if (c.to === c.from) {
        for (const n of range(c.from + c.newPages, c.pages - c.newPages)) end(model, n, time);
        const more = range(c.from + c.pages, Math.max(0, c.newPages - c.pages));
        if (more.some((n) => model.pages.has(n))) return [];
        for (const n of more) put(model, n, { ...grown }, time);
        return [mremap(time, c.from, c.pages, c.to, c.newPages)];
      }
      if (c.to < c.from + c.pages && c.from < c.to + c.newPages) return [];
      const dontUnmap = c.dontUnmap && c.pages === c.newPages;
      const moved = whole.map((n) => model.pages.get(n) as PageModel);
      for (const n of whole.slice(0, c.newPages)) model.pages.delete(n);
      for (const n of whole.slice(c.newPages)) end(model, n, time);
      for (const [i, n] of range(c.to, c.newPages).entries()) put(model, n, moved[i] ?? { ...grown }, time);
      if (dontUnmap)
        for (const [i, n] of whole.entries()) model.pages.set(n, { prot: moved[i]?.prot ?? 0, birth: time });
      return [mremap(time, c.from, c.pages, c.to, c.newPages, { flags: dontUnmap ? 5 : 3 })];
    }
    case "brk": {
      const before = model.brk;
      model.brk = c.to;
      for (let n = before; n < c.to; n++) put(model, HEAP + n, { prot: 3, birth: time }, time);
      for (let n = c.to; n < before; n++) end(model, HEAP + n, time);
      const [addr, old_addr] = [page(HEAP + c.to), page(HEAP + before)];
      return [mappingRow("brk", time, { addr, old_addr, result: addr })];
    }
  }
}

function pagesOfRows(rows: readonly MappingRow[]): Map<number, number> {
  const out = new Map<number, number>();
  for (const row of rows) {
    for (let n = Number(row.addr / 4096n); n < Number((row.addr + row.size_bytes) / 4096n); n++) {
      expect(out.has(n)).toBe(false);
      out.set(n, row.prot);
    }
  }
  return out;
}

const byPage = (pages: Map<number, number>): [number, number][] => [...pages].sort(([a], [b]) => a - b);

describe("a map rebuilt from calls", () => {
  test("equals a naive map of single pages after every call, with births and byte-time kept", () => {
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 60 }), (calls) => {
        const maps = recordedMaps();
        const model: Model = { pages: new Map(), lived: 0, brk: 0 };
        let time = 10;
        for (const c of calls) {
          time += 10;
          for (const row of step(model, c, time)) maps.apply(row);
          const expected = new Map([...model.pages].map(([n, { prot }]) => [n, prot] as const));
          expect(byPage(pagesOfRows(maps.mapsOf(100)))).toEqual(byPage(expected));
        }
        let lived = 0n;
        for (const row of maps.lifetimes()) {
          const first = Number(row.addr / 4096n);
          const count = Number(row.size_bytes / 4096n);
          if (row.death_ns === null) {
            for (let n = first; n < first + count; n++) {
              expect(BigInt(model.pages.get(n)?.birth ?? -1)).toBe(row.birth_ns);
            }
          } else if (row.ended_by !== "moved") lived += (row.death_ns - row.birth_ns) * BigInt(count);
        }
        expect(lived).toBe(BigInt(model.lived));
        expect(maps.counters.bad_rows + maps.counters.unknown_ranges).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test("is the same in whatever order overlapping maps, unmaps and protections are delivered", () => {
    const event = fc.record({ kind: fc.constantFrom("mmap", "munmap", "mprotect"), from, pages: pagesOf, prot });
    const shuffled = fc
      .array(event, { minLength: 2, maxLength: 25 })
      .chain((events) =>
        fc.tuple(
          fc.constant(events),
          fc.shuffledSubarray([...events.keys()], { minLength: events.length, maxLength: events.length }),
        ),
      );
    fc.assert(
      fc.property(shuffled, ([events, order]) => {
        const model: Model = { pages: new Map(), lived: 0, brk: 0 };
        const rows = events.flatMap((e, i) =>
          step(model, { ...e } as Call, 10 * (i + 1)).map((row) => [i, row] as const),
        );
        const inOrder = createProcessMaps();
        for (const [, row] of rows) inOrder.apply(row);
        const late = createProcessMaps();
        for (const i of order) for (const [k, row] of rows) if (k === i) late.apply(row);
        const state = (maps: typeof late) => byPage(pagesOfRows(maps.mapsOf(100)));
        expect(state(late)).toEqual(state(inOrder));
        expect(state(inOrder)).toEqual(byPage(new Map([...model.pages].map(([n, p]) => [n, p.prot] as const))));
      }),
      { numRuns: 400 },
    );
  });

  test("keeps addresses beyond 2^53 exact", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << 52n) - 9n }), fc.integer({ min: 1, max: 8 }), (first, pages) => {
        const maps = createProcessMaps();
        const addr = first * 4096n;
        const size_bytes = BigInt(pages) * 4096n;
        maps.apply(mappingRow("mmap", 5, { addr, size_bytes, prot: 1, flags: 0x22 }));
        expect(maps.mapsOf(100).map((row) => [row.addr, row.size_bytes])).toEqual([[addr, size_bytes]]);
      }),
    );
  });

  test("survives any row and counts every one", () => {
    const u64 = fc.bigInt({ min: -5n, max: (1n << 64n) + 5n });
    const orNull = <T>(arb: fc.Arbitrary<T>) => fc.option(arb, { nil: null });
    const u32 = fc.integer({ min: 0, max: 0xffffffff });
    const kinds = ["mmap", "munmap", "mremap", "brk", "madvise", "mprotect", "fork", "exec", "exit"] as const;
    const looks = ["snapshot_begin", "snapshot", "snapshot_end", "file"] as const;
    const hostile = fc.record({
      timestamp_ns: u64,
      pid: fc.integer({ min: 0, max: 3 }),
      tid: u32,
      exec_epoch: u32,
      kind: fc.constantFrom(...kinds, ...looks, "nonsense" as "mmap"),
      addr: u64,
      size_bytes: u64,
      old_addr: orNull(u64),
      old_size_bytes: orNull(u64),
      prot: orNull(u32),
      flags: orNull(u32),
      file_offset_bytes: orNull(u64),
      dev: orNull(u32),
      inode: orNull(u64),
      path: orNull(fc.string()),
      result: orNull(fc.bigInt({ min: -200n, max: 1n << 48n })),
      child_pid: orNull(fc.integer({ min: 0, max: 3 })),
      begin_ns: orNull(u64),
      end_ns: orNull(u64),
    });
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 40 }), (rows) => {
        const maps = recordedMaps();
        for (const row of rows) maps.apply(row);
        for (const pid of maps.pids()) pagesOfRowsOnly(maps.mapsOf(pid));
        maps.lifetimes();
        const { applied, failed_calls, bad_rows } = maps.counters;
        expect(applied + failed_calls + bad_rows).toBe(rows.length);
      }),
      { numRuns: 500 },
    );
  });
});

/** Rows are in order and do not overlap. */
function pagesOfRowsOnly(rows: readonly MappingRow[]): void {
  let end = 0n;
  for (const row of rows) {
    expect(row.addr >= end).toBe(true);
    end = row.addr + row.size_bytes;
  }
}
