/** Parquet files decoded in typed arrays: those of the SQL engine beside those of this package, and hostile ones. */
import { expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { storedPages, unpackPage } from "../../../../src/columnar/read/pages.ts";
import { openParquetSource } from "../../../../src/columnar/read/parquet-file.ts";
import { assertRefusal, TooLarge } from "../../../../src/columnar/read/refusal.ts";
import { readThrift } from "../../../../src/columnar/read/thrift.ts";
import { decodedRows } from "../../../fixtures/decoded-parquet.ts";
import { encodeParquet } from "../../../fixtures/encode-parquet.ts";
import { GOLDEN_TRACE } from "../../../fixtures/python-package.ts";
import { sqlEngine } from "../../../fixtures/sql-engine.ts";
import { arbitraryBatch } from "../arbitrary-batch.ts";

const engine = sqlEngine();
const { folder } = engine;
const path = join(folder, "file.parquet");

/** Rows of the SQL engine, numbers as words of their width. */
async function engineRows(file: string, wide: readonly string[]): Promise<Record<string, unknown>[]> {
  const rows = await engine.database.rows(`SELECT * FROM read_parquet('${file}')`);
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => {
        if (typeof value === "bigint") return [name, BigInt.asUintN(wide.includes(name) ? 64 : 32, value)];
        if (typeof value === "number") return [name, BigInt.asUintN(32, BigInt(value))];
        return [name, value];
      }),
    ),
  );
}

test("a file of the SQL engine is decoded as that reads it: any size of group, page and dictionary, with nulls", async () => {
  const made = fc.record({
    rows: fc.constantFrom(0, 1, 9, 2047, 2049, 9000),
    spread: fc.constantFrom(1, 3, 200, 70_000),
    nulls: fc.constantFrom(0, 1, 2, 13),
    codec: fc.constantFrom("zstd", "gzip", "brotli", "uncompressed"),
    version: fc.constantFrom("V1", "V2"),
    seed: fc.nat(1000),
  });
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(made, async ({ rows, spread, nulls, codec, version, seed }) => {
      const value = `hash(i + ${seed}) % ${spread}`;
      const maybe = (sql: string) => (nulls === 0 ? sql : `CASE WHEN i % ${nulls} = 0 THEN NULL ELSE ${sql} END`);
      rmSync(path, { force: true });
      await engine.database.run(
        `COPY (SELECT CAST(i * 1000 + ${value} AS UBIGINT) AS time, ${maybe(`CAST(${value} AS UINTEGER)`)} AS narrow,
          CAST(${value} AS BIGINT) - 100 AS low, ${maybe(`'w' || ${value}`)} AS word FROM range(${rows}) t(i))
         TO '${path}' (FORMAT parquet, COMPRESSION ${codec}, ROW_GROUP_SIZE 4096, PARQUET_VERSION ${version})`,
      );
      const expected = await engineRows(path, ["time", "low"]);
      try {
        expect(await decodedRows(path)).toEqual(expected as never);
      } catch (error) {
        // Texts as lengths and differences are the one encoding that is left to the engine.
        if (version !== "V2" || !/^encoding 6$|^encoding 7$/.test(String((error as Error).message))) throw error;
        refused += 1;
      }
    }),
    { numRuns: 60 },
  );
  expect(refused).toBeLessThan(40);
}, 120_000);

test("a trace of the Python package is decoded as the SQL engine reads it", async () => {
  const described = await engine.database.rows(`DESCRIBE SELECT * FROM read_parquet('${GOLDEN_TRACE}')`);
  const wide = described
    .filter((row) => String(row.column_type).includes("BIGINT"))
    .map((row) => String(row.column_name));
  const rows = await decodedRows(GOLDEN_TRACE);
  expect(rows.length).toBe(2000);
  expect(Object.keys(rows[0] ?? {})).toContain("thread_id");
  const names = new Set(Object.keys(rows[0] ?? {}));
  const expected = (await engineRows(GOLDEN_TRACE, wide)).map((row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => names.has(name))),
  );
  expect(rows).toEqual(expected as never);
});

test("pages are the same when other threads decompress them", async () => {
  expect(await decodedRows(GOLDEN_TRACE, true)).toEqual(await decodedRows(GOLDEN_TRACE));
});

/** Rows, or an error that says what is wrong with the bytes; never a mistake of the decoder. */
async function judged(bytes: Uint8Array): Promise<"rows" | "error"> {
  writeFileSync(path, bytes);
  try {
    await decodedRows(path);
    return "rows";
  } catch (error) {
    assertRefusal(error);
    return "error";
  }
}

test("a file with any bytes changed, cut or added is decoded or refused", async () => {
  const files = [
    readFileSync(GOLDEN_TRACE),
    ...fc
      .sample(arbitraryBatch("access", 300), { numRuns: 2, seed: 3 })
      .map((batch) => encodeParquet("access", [batch])),
  ];
  const change = fc.record({
    file: fc.nat(files.length - 1),
    places: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), { maxLength: 6 }),
    /** Footers and page headers are small: most changes would miss them. */
    atEnd: fc.boolean(),
    cut: fc.oneof(fc.constant(0), fc.constant(0), fc.nat(40)),
  });
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(change, async ({ file, places, atEnd, cut }) => {
      const bytes = new Uint8Array(files[file] ?? []);
      const from = atEnd ? Math.max(0, bytes.length - 6000) : 0;
      for (const [place, byte] of places) bytes[from + Math.floor(place * (bytes.length - from - 1))] = byte;
      if ((await judged(bytes.subarray(0, bytes.length - cut))) === "error") refused += 1;
    }),
    { numRuns: 400 },
  );
  expect(refused).toBeGreaterThan(50);
}, 120_000);

test("any bytes are a structure or refused", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      try {
        expect(readThrift(bytes, 0).end).toBeLessThanOrEqual(bytes.length);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect(error).not.toBeInstanceOf(RangeError);
      }
    }),
    { numRuns: 3000 },
  );
});

test("a page that claims to be small and is not takes no more memory than it claims", () => {
  // Two frames, one after the other: the first says less than both together have.
  const frame = new Uint8Array(Bun.zstdCompressSync(new Uint8Array(1 << 22), { level: 1 }));
  const stored = new Uint8Array(2 * frame.length);
  stored.set(frame);
  stored.set(frame, frame.length);
  const page = { isDictionary: false, values: 1, encoding: 0, codec: 6, stored, length: 100 };
  expect(() => unpackPage(page)).toThrow();
  expect(() => unpackPage({ ...page, length: 1 << 22 })).toThrow();
  expect(unpackPage({ ...page, stored: frame, length: 1 << 22 }).body.length).toBe(1 << 22);
});

test("frames behind the one that a page tells of are not unpacked", () => {
  const told = Bun.zstdCompressSync(new Uint8Array(1000));
  const untold = Bun.zstdCompressSync(new Uint8Array(1 << 29), { level: 1 });
  const stored = new Uint8Array(Buffer.concat([told, untold]));
  Bun.gc(true);
  const before = process.resourceUsage().maxRSS;
  const page = { isDictionary: false, values: 1, encoding: 0, codec: 6, stored, length: 1000 };
  expect(() => unpackPage(page)).toThrow();
  expect(1024 * (process.resourceUsage().maxRSS - before)).toBeLessThan(2 ** 27);
});

test("a page of any codec that unpacks to more than it says is refused, and left to no other reader", () => {
  const body = new Uint8Array(1 << 20);
  for (const [codec, stored] of [
    [2, gzipSync(body)],
    [4, brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    [6, zstdCompressSync(body)],
  ] as const) {
    const page = {
      isDictionary: false,
      values: 1,
      encoding: 0,
      codec,
      stored: new Uint8Array(stored),
      length: 1 << 20,
    };
    expect(unpackPage(page).body.length).toBe(1 << 20);
    expect(() => unpackPage({ ...page, length: 1000 })).toThrow(TooLarge);
  }
});

/** Header of a page of one value without a body that claims so many bytes. */
function emptyPage(claimed: number): number[] {
  const size: number[] = [];
  for (let rest = 2 * claimed; ; rest = Math.floor(rest / 0x80)) {
    size.push((rest % 0x80) + (rest < 0x80 ? 0 : 0x80));
    if (rest < 0x80) break;
  }
  return [0x15, 0, 0x15, ...size, 0x15, 0, 0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];
}

test("pages that claim more together than a column has are refused, however small they are", () => {
  const chunk = { codec: 6, values: 4, at: 0, bytes: 0 };
  const pages = (count: number, claimed: number) => Uint8Array.from(Array(count).fill(emptyPage(claimed)).flat());
  expect(storedPages(pages(4, 1 << 26), chunk).map(({ length }) => length)).toEqual(Array(4).fill(1 << 26));
  expect(() => storedPages(pages(5, 1 << 26), chunk)).toThrow(TooLarge);
  expect(() => storedPages(pages(1, 2 ** 31), chunk)).toThrow(TooLarge);
});

test("a column that claims a terabyte is refused, and no room made for it", () => {
  using source = openParquetSource(GOLDEN_TRACE);
  const [chunk] = source.footer.groups[0]?.chunks ?? [];
  if (chunk === undefined) throw new Error("the trace has no rows");
  expect(source.bytes(chunk)).toHaveLength(chunk.bytes);
  expect(() => source.bytes({ ...chunk, bytes: 2 ** 40 })).toThrow(TooLarge);
});
