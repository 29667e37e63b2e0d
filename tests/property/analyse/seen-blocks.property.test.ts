import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import fc from "fast-check";
import { GRAINS } from "../../../src/analyse/input.ts";
import { ACCESS_BLOCKS } from "../../../src/analyse/sql/access-blocks.ts";
import { ACCESS_LINES } from "../../../src/analyse/sql/access-lines.ts";
import { openDatabase } from "../../../src/label/database.ts";

interface Access {
  readonly region_id: number;
  readonly pid: number;
  readonly address: number;
  readonly step: "prefill" | "decode" | null;
  readonly period: number;
}

const access: fc.Arbitrary<Access> = fc.record({
  region_id: fc.constantFrom(1, 2),
  pid: fc.constantFrom(7, 8),
  // Near the edges of blocks of every grain.
  address: fc
    .tuple(fc.constantFrom(0, ...GRAINS), fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 130 }))
    .map(([grain, times, offset]) => grain * times + offset),
  step: fc.constantFrom("prefill", "decode", null),
  period: fc.constantFrom(0, 1, 250_007),
});

/** Blocks of a grain seen at all, once and twice by rows that stand for accesses. */
function counted(rows: readonly Access[], grain: number): number[] {
  const seen = new Map<string, number>();
  for (const { pid, address } of rows) {
    const block = `${pid}/${Math.floor(address / grain)}`;
    seen.set(block, (seen.get(block) ?? 0) + 1);
  }
  const counts = [...seen.values()];
  return [counts.length, counts.filter((n) => n === 1).length, counts.filter((n) => n === 2).length];
}

test("blocks of every grain are counted as one would by hand, per class and step", async () => {
  await using database = await openDatabase({ threads: 1, memoryLimitBytes: 256 * 2 ** 20, spillFolder: tmpdir() });
  await database.run(
    "CREATE TABLE region_map AS SELECT * FROM (VALUES (1, 'weight', 'anon'), (2, 'unknown', 'heap')) AS t(region_id, region_type, mapping_kind)",
  );
  await database.run(
    "CREATE TABLE span AS SELECT 0::BIGINT AS origin_ns, 0::BIGINT AS begin_ns, 1000::BIGINT AS end_ns",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(access, { minLength: 1, maxLength: 60 }), async (rows) => {
      const values = rows.map(
        ({ region_id, pid, address, step, period }) =>
          `(${region_id}, '${region_id === 1 ? "weight" : "unknown"}', 'pebs', ${pid}, ${address}::UBIGINT, ${step === null ? "NULL::VARCHAR" : `'${step}'`}, 0, 5::BIGINT, 'load', ${period}::UBIGINT)`,
      );
      await database.run(
        `CREATE OR REPLACE TABLE trace AS SELECT * FROM (VALUES ${values.join(", ")}) AS t(region_id, region_type, source, pid, address, step, token_index, timestamp_ns, op_type, period)`,
      );
      const found = await database.rows(ACCESS_LINES);
      const sums = await database.rows(ACCESS_BLOCKS);
      for (const [region_id, region_type] of [
        [1, "weight"],
        [2, "unknown"],
      ] as const) {
        for (const step of ["prefill", "decode", "none"] as const) {
          const mine = rows.filter(
            (row) => row.region_id === region_id && row.period > 0 && (step === "none" || row.step === step),
          );
          const row = found.find((one) => one.region_type === region_type && one.step === step);
          if (mine.length === 0) {
            expect(row).toBeUndefined();
            continue;
          }
          for (const grain of GRAINS) {
            const said = [row?.[`distinct_${grain}`], row?.[`once_${grain}`], row?.[`twice_${grain}`]].map(Number);
            expect(said).toEqual(counted(mine, grain));
          }
          const n = sums.filter((one) => one.region_type === region_type && one.step === step);
          expect(n.reduce((sum, one) => sum + Number(one.n), 0)).toBe(mine.length);
        }
      }
    }),
    { numRuns: 30 },
  );
});
