/** What long columns look like in the file: runs, packed bits, differences, dictionaries, with and without nulls. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { Batch, ColumnData } from "../../../../src/columnar/batch.ts";
import { rowKeys } from "../../../../src/columnar/keys/row-keys.ts";
import { decodedRows } from "../../../fixtures/decoded-parquet.ts";
import { encodeParquet } from "../../../fixtures/encode-parquet.ts";
import { decodeParquet } from "../../../fixtures/parquet-by-wasm.ts";
import { sqlEngine } from "../../../fixtures/sql-engine.ts";
import { plainRows } from "../arbitrary-batch.ts";

const engine = sqlEngine();
const { folder } = engine;

/** A sequence with a shape: how it begins, how it goes on, and how often a value stays. */
interface Shape {
  readonly kind: "constant" | "ascending" | "descending" | "few" | "many" | "wild" | "blocks";
  readonly seed: number;
  readonly stay: number;
}

const shape: fc.Arbitrary<Shape> = fc.record({
  kind: fc.constantFrom("constant", "ascending", "descending", "few", "many", "wild", "blocks"),
  seed: fc.nat(2 ** 31),
  stay: fc.constantFrom(1, 1, 2, 7, 8, 9, 15, 16, 17, 100, 600),
});

/** Values of 64 bits; narrower columns keep their low bits. */
function valuesOf({ kind, seed, stay }: Shape, rows: number): bigint[] {
  let state = BigInt(seed) | 1n;
  const random = (): bigint => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffff_ffff_ffff_ffffn;
    return state >> 16n;
  };
  const base = random();
  const out: bigint[] = [];
  let value = base;
  for (let row = 0; row < rows; row++) {
    if (row % stay === 0 && row > 0) {
      if (kind === "ascending") value += random() % 5000n;
      if (kind === "descending") value -= random() % 300n;
      if (kind === "few") value = base + (random() % 5n);
      if (kind === "many") value = base + (random() % 60_000n);
      if (kind === "wild") value = (random() << 16n) ^ random();
      if (kind === "blocks") value = row % 512 < 256 ? base : random() % 9n;
    }
    out.push(value);
  }
  return out;
}

const ROWS = fc.constantFrom(0, 1, 7, 8, 9, 127, 128, 129, 130, 505, 512, 2000, 9001, 40_000);
const presence = fc.constantFrom<readonly (0 | 1)[] | null>(null, [0], [1], [1, 0], [1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);

const BATCH = fc
  .record({ rows: ROWS, shapes: fc.array(shape, { minLength: 8, maxLength: 8 }), present: presence })
  .map(({ rows, shapes, present }): Batch<"access"> => {
    const values = (i: number): bigint[] => valuesOf(shapes[i] as Shape, rows);
    const wide = (i: number) => ({ data: BigUint64Array.from(values(i), (v) => BigInt.asUintN(64, v)) });
    const narrow = (i: number) => ({ data: Uint32Array.from(values(i), (v) => Number(BigInt.asUintN(32, v))) });
    const small = (i: number) => ({ data: Uint16Array.from(values(i), (v) => Number(BigInt.asUintN(16, v))) });
    const words = ["", "load", "store", "ä".repeat(90)];
    const text = (i: number): ColumnData => ({
      codes: Uint32Array.from(values(i), (v) => Number(BigInt.asUintN(2, v))),
      values: words,
    });
    const valid =
      present === null
        ? {}
        : { valid: Uint8Array.from({ length: rows }, (_, row) => present[row % present.length] ?? 1) };
    return {
      table: "access",
      rows,
      columns: {
        timestamp_ns: wide(0),
        address: wide(1),
        op_type: text(2),
        ip: wide(2),
        pid: narrow(3),
        tid: narrow(4),
        cpu: small(5),
        source: text(6),
        period: wide(7),
        watch_id: { ...narrow(0), ...valid },
        in_kernel: { data: Uint8Array.from(values(4), (v) => Number(BigInt.asUintN(1, v))) },
        op_evidence: text(5),
        data_src: { ...wide(3), ...valid },
        weight_cycles: { ...narrow(6), ...valid },
      },
    };
  });

/** The words of a value, as the decoder gives them. */
function asWords(value: unknown, name: string): unknown {
  if (typeof value === "number" && name !== "in_kernel") return BigInt(value);
  return value;
}

test("every long column comes back as it was, by one reader and by two others", async () => {
  const path = join(folder, "file.parquet");
  await fc.assert(
    fc.asyncProperty(BATCH, async (batch) => {
      const bytes = encodeParquet("access", [batch]);
      const expected = plainRows(batch);
      expect(plainRows(decodeParquet(bytes, "test"))).toEqual(expected);
      writeFileSync(path, bytes);
      const rows = await engine.database.rows(`SELECT * FROM read_parquet('${path}')`);
      expect(rows.map((row) => ({ ...row, in_kernel: row.in_kernel ? 1 : 0 }))).toEqual(expected as never);
      const decoded = expected.map((row) =>
        Object.fromEntries(
          Object.entries(row).flatMap(([name, value]) => (name === "in_kernel" ? [] : [[name, asWords(value, name)]])),
        ),
      );
      expect(await decodedRows(path)).toEqual(decoded as never);
      const [bounds] = await engine.database.rows(
        `SELECT bool_and(stats_min_value IS NULL OR CAST(stats_min_value AS UBIGINT) <= low) AS least,
           bool_and(stats_max_value IS NULL OR CAST(stats_max_value AS UBIGINT) >= high) AS greatest
         FROM parquet_metadata('${path}'), (SELECT min(timestamp_ns) AS low, max(timestamp_ns) AS high FROM read_parquet('${path}'))
         WHERE path_in_schema = 'timestamp_ns'`,
      );
      if (batch.rows > 0) expect(bounds).toEqual({ least: true, greatest: true });
    }),
    { numRuns: 25 },
  );
}, 120_000);

test("columns that follow from keys are what each row's key says", () => {
  const keyed = fc.record({
    rows: fc.constantFrom(1, 9, 600, 3000),
    shape,
    keys: fc.integer({ min: 1, max: 40 }),
    values: fc.array(fc.string(), { minLength: 1, maxLength: 5 }),
    codes: fc.array(fc.constantFrom(0, 1, 2, 3, 4, 0xffffffff), { minLength: 40, maxLength: 40 }),
  });
  fc.assert(
    fc.property(keyed, (given) => {
      const keys = Uint32Array.from(
        valuesOf(given.shape, given.rows),
        (v) => Number(BigInt.asUintN(31, v)) % given.keys,
      );
      const key = rowKeys(keys, given.rows);
      const numbers = Uint32Array.from({ length: 5 }, (_, i) => 7 * i);
      const columns = {
        phase: { key, codes: given.codes, values: given.values },
        region_id: { key, codes: given.codes, values: numbers },
      };
      const read = plainRows(
        decodeParquet(encodeParquet("trace", [{ table: "trace", rows: given.rows, columns }]), "test"),
      );
      const code = (row: number): number => given.codes[keys[row] ?? 0] ?? 0;
      expect(read.map((row) => row.phase)).toEqual(read.map((_, row) => given.values[code(row)] ?? null));
      expect(read.map((row) => row.region_id)).toEqual(read.map((_, row) => numbers[code(row)] ?? null));
    }),
    { numRuns: 60 },
  );
});
