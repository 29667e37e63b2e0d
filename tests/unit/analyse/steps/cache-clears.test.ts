import { expect, test } from "bun:test";
import type { KvRowSample } from "../../../../src/analyse/input/input.ts";
import { cacheClears, clearsTold } from "../../../../src/analyse/steps/cache-clears.ts";

function row(write_ns: number, evict_ns: number): KvRowSample {
  return {
    write_ns,
    evict_ns,
    is_written: true,
    last_read_ns: write_ns,
    total_reads: 0,
    filling: 0,
    writes: "once" as const,
    size_bytes: 8,
  };
}

test("a clear is where the last live row leaves, a trim that leaves some is none", () => {
  const rows = [row(0, 100), row(10, 100), row(20, 50), row(110, 200), row(120, Number.NaN), row(130, 300)];
  // At 50 two rows live on; at 200 and 300 one that never left.
  expect([...cacheClears(rows)]).toEqual([100]);
  expect([...cacheClears(rows.filter(({ evict_ns }) => !Number.isNaN(evict_ns)))]).toEqual([100, 300]);
});

test("a cache that nobody empties has no clear", () => {
  expect(cacheClears([row(0, Number.NaN), row(1, Number.NaN)])).toHaveLength(0);
  expect(cacheClears([])).toHaveLength(0);
});

test("no clear is taken from the rows of one context where those of another are not told, whose cache goes on", () => {
  const rows = [row(0, 100), row(110, 200)];
  expect([...clearsTold(rows, { untold: null, early: null })]).toEqual([100, 200]);
  expect([...clearsTold(rows, { untold: "a batch was given up in its midst", early: null })]).toEqual([]);
});
