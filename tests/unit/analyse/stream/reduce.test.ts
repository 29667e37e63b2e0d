import { expect, test } from "bun:test";
import { binnedQuantiles } from "../../../../src/analyse/stream/binned-quantiles.ts";
import { type ReducedTrace, reduceTrace } from "../../../../src/analyse/stream/reduce.ts";
import { openTraceFile } from "../../../../src/label/trace/trace-file.ts";
import { openDatabase } from "../../../../src/sql/database.ts";
import { GOLDEN_TRACE } from "../../../fixtures/python-package.ts";

async function reduced(mostRows?: number, decode = true): Promise<ReducedTrace> {
  await using database = await openDatabase({ threads: 1 });
  const engine = async () => database;
  const file = await openTraceFile(engine, GOLDEN_TRACE);
  return await reduceTrace(engine, decode ? file : { ...file, decodable: false }, 1, mostRows);
}

const sumOf = (values: Float64Array): number => values.reduce((a, b) => a + b, 0);

test("a trace that is read in parts says what it says when it is read at once", async () => {
  const [whole, parts] = [await reduced(), await reduced(150)];
  expect(parts.rows).toBe(2000);
  expect({ ...parts, streams: [] }).toEqual({ ...whole, streams: [] });
  expect(parts.streams.length).toBe(4);
  for (const [i, one] of parts.streams.entries()) {
    const other = whole.streams[i];
    if (other === undefined) throw new Error("a class is missing");
    for (const name of ["addresses", "written", "written_once", "reuse_ns", "pairs", "same_page"] as const) {
      expect([name, sumOf(one[name])]).toEqual([name, sumOf(other[name])]);
    }
    for (const name of ["intervals", "reuse", "retention", "ages", "strides"] as const) {
      expect([name, one[name].n, one[name].n_censored]).toEqual([name, other[name].n, other[name].n_censored]);
      const [mine, theirs] = [one, other].map((of) => binnedQuantiles(of[name], [0.5])[0]?.value ?? null);
      expect(mine ?? -1).toBeCloseTo(theirs ?? -1, 3);
    }
  }
});

test("a trace that is decoded here says what it says when the SQL engine decodes it", async () => {
  const [here, there] = [await reduced(), await reduced(undefined, false)];
  expect(here.rows).toBe(2000);
  expect(here.regions.size).toBeGreaterThan(1);
  // The SQL engine tells no rows of single regions apart.
  const { regionSums: ofRegions, ...rest } = here;
  expect(ofRegions.length).toBeGreaterThan(1);
  const { regionSums: none, ...others } = there;
  expect(none).toEqual([]);
  expect(rest).toEqual(others);
});
