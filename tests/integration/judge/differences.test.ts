import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { analyse } from "../../../src/pipelines/analyse.ts";
import type { ReportMetric, RunReport } from "../../../src/schema/run-json.ts";
import { openDatabase, quote } from "../../../src/sql/database.ts";
import { pythonPackage, TABLES } from "../../fixtures/python-package.ts";

/** Small traces with a known answer, on which docs/python-package.md says that the package errs. */
interface Access {
  readonly at: number;
  readonly address: number;
  readonly op: "load" | "store";
  readonly region?: number;
  readonly type?: string;
  readonly thread?: number;
}
type Row = Readonly<Record<string, number | string | null>>;
interface Answer {
  readonly error: string | null;
  readonly tables: Readonly<Record<string, readonly Row[]>> | null;
}

/** More than the fewest samples of a figure. */
const MANY = 40;
const PAGE = 4096;
const S = 1e9;
/** Above 2^53, where a double holds every 256th number only. */
const BEGIN_NS = 2n ** 60n;
const of = <T>(n: number, make: (i: number) => readonly T[]): T[] =>
  Array.from({ length: n }, (_, i) => make(i)).flat();

const TRACES = {
  // Two values of 1 s each at every address, one behind the other, and a store that ends the second.
  overwritten: of(MANY, (i) => [
    { at: i, address: i * 64, op: "store" as const, region: i + 1 },
    { at: S + i, address: i * 64, op: "load" as const, region: i + 1 },
    { at: 2 * S + i, address: i * 64, op: "store" as const, region: i + 1 },
    { at: 3 * S + i, address: i * 64, op: "load" as const, region: i + 1 },
    { at: 4 * S + i, address: i * 64, op: "store" as const, region: i + 1 },
  ]),
  // Two tensors, each needed for 1 s, the second 10 s after the first.
  tensors: of(MANY, (i) =>
    [0, 10 * S].flatMap((from) => [
      { at: from + i, address: from + i * 64, op: "store" as const, type: "weight", region: 1 },
      { at: from + S + i, address: from + i * 64, op: "load" as const, type: "weight", region: 1 },
      { at: from + 2 * S + i, address: from + i * 64, op: "store" as const, type: "weight", region: 1 },
    ]),
  ),
  // Read 4 s before the first store, and never after it.
  read_before: of(MANY, (i) => [
    { at: i, address: i * 64, op: "load" as const, region: i + 1 },
    { at: 4 * S + i, address: i * 64, op: "store" as const, region: i + 1 },
  ]),
  // 41 pages: of one region every address is written twice, of another its only one once.
  uneven: [
    ...of(MANY, (i) => [
      { at: i, address: i * PAGE, op: "store" as const, region: 1 },
      { at: S + i, address: i * PAGE, op: "store" as const, region: 1 },
    ]),
    { at: 0, address: 1000 * PAGE, op: "store" as const, region: 2 },
  ],
  // Sixteen blocks of 256 B on one page, each with three accesses.
  blocks: of(16, (i) =>
    [0, 1, 2].map((k) => ({
      at: k * S + i,
      address: i * 256,
      op: "load" as const,
      type: "kv_cache",
      region: i + 2,
    })),
  ),
  // Twice at the same time, at every address.
  together: of(MANY, (i) => [0, 0].map(() => ({ at: i, address: i * PAGE, op: "load" as const, region: 1 }))),
  // Two threads, each on a page of its own, taking turns.
  threads: of(MANY, (i) =>
    [0, 1].map((thread) => ({
      at: 10 * i + thread,
      address: thread * 1e6 * PAGE + i * 8,
      op: "load" as const,
      region: 1,
      thread,
    })),
  ),
  // 100 ns from store to load in each of the regions that an address has one after the other, beside a region that is only read.
  late: [
    ...of(MANY, (i) => [
      ...of(5, (k) => [
        { at: 2000 * i + 200 * k, address: i * 64, op: "store" as const, region: 5 * i + k + 2 },
        { at: 2000 * i + 200 * k + 100, address: i * 64, op: "load" as const, region: 5 * i + k + 2 },
      ]),
      { at: 2000 * i + 1000, address: i * 64, op: "store" as const, region: 5 * i + 6 },
    ]),
    { at: 5, address: 1000 * PAGE, op: "load" as const, region: 1 },
  ],
  read_only: of(MANY, (i) => [
    { at: i, address: i * 64, op: "load" as const, type: "weight", region: 1 },
    { at: 30 * S + i, address: i * 64, op: "load" as const, type: "weight", region: 1 },
  ]),
} satisfies Record<string, readonly Access[]>;
type Name = keyof typeof TRACES;

const found = await pythonPackage();
if (!found.ok) process.stderr.write(`skipping the Python package's side of known answers: ${found.reason}\n`);

const folder = mkdtempSync(join(tmpdir(), "mrm-differences-"));
const ours = new Map<Name, RunReport>();
const theirs = new Map<Name, Answer>();

async function write(rows: readonly Access[], path: string): Promise<void> {
  await using database = await openDatabase();
  const values = [...rows]
    .sort((a, b) => a.at - b.at)
    .map(
      (row) =>
        `(${row.at}, ${row.address}, '${row.op}', '${row.type ?? "activation"}', ${row.region ?? 1}, ${row.thread ?? 1})`,
    );
  await database.run(
    `COPY (SELECT CAST(t AS UBIGINT) + ${BEGIN_NS} AS timestamp_ns, CAST(a AS UBIGINT) AS address, CAST(a AS UBIGINT) >> 12 AS address_page, op AS op_type, type AS region_type, CAST(r AS UINTEGER) AS region_id, CAST(thread AS UINTEGER) AS thread_id FROM (VALUES ${values.join(", ")}) AS rows(t, a, op, type, r, thread)) TO ${quote(path)} (FORMAT parquet)`,
  );
}

beforeAll(async () => {
  const names = Object.keys(TRACES) as Name[];
  const path = (name: Name): string => join(folder, `${name}.parquet`);
  for (const name of names) {
    await write(TRACES[name], path(name));
    ours.set(name, (await analyse(path(name), { output: folder, period: 1, force: false, seed: 1 })).report);
  }
  if (!found.ok) return;
  const asked = Bun.spawnSync([found.python, TABLES, ...names.map(path)]);
  expect(asked.exitCode).toBe(0);
  for (const [i, answer] of (JSON.parse(asked.stdout.toString()) as Answer[]).entries()) {
    const name = names[i];
    if (name !== undefined) theirs.set(name, answer);
  }
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function figure(name: Name, metric: string, grain: number | null = null): ReportMetric {
  const row = ours
    .get(name)
    ?.metrics.find((one) => one.metric === metric && (grain === null || one.grain_bytes === grain));
  if (row === undefined) throw new Error(`no ${metric} of ${name}`);
  return row;
}

function cell(name: Name, table: string, column: string): Row[string] | undefined {
  return theirs.get(name)?.tables?.[table]?.[0]?.[column];
}

describe("known answers that we give", () => {
  test("retention ends at the last read before the next store", () => {
    expect(figure("overwritten", "retention_p50_ns")).toMatchObject({ status: "ok", value: S, lo: S, n: 3 * MANY });
  });

  test("retention is that of each address, whatever else is a weight", () => {
    expect(figure("tensors", "retention_p99_ns").lo).toBe(S);
  });

  test("what is read before it is written is no retention, and none is negative", () => {
    const { value, lo, hi } = figure("read_before", "retention_p50_ns");
    expect([value, lo, hi].filter((end) => end !== null && end < 0)).toEqual([]);
    expect(lo ?? 0).toBe(0);
  });

  test("times are exact, however late the trace was taken", () => {
    expect(figure("late", "retention_p50_ns")).toMatchObject({ status: "ok", value: 100, lo: 100, hi: 100 });
  });

  test("write-once is a share of addresses, not of regions", () => {
    expect(figure("uneven", "write_once_ratio").value).toBeCloseTo(1 / (MANY + 1), 9);
  });

  test("a page counts once, however many blocks it holds", () => {
    expect(figure("blocks", "working_set_bytes", PAGE).value).toBe(PAGE);
  });

  test("accesses at one time are no time apart", () => {
    expect(figure("together", "reuse_time_p50_ns")).toMatchObject({ status: "ok", value: 0, n: MANY });
  });

  test("strides are those of each thread", () => {
    expect(figure("threads", "same_page_fraction").value).toBe(1);
    expect(figure("threads", "median_stride_bytes").value).toBe(8);
  });

  test("what was never written has no reads per write, and is not judged by writes", () => {
    expect(figure("read_only", "reads_per_write").value).toBeNull();
    expect(figure("read_only", "write_once_ratio").status).toBe("not_identifiable");
    expect(figure("read_only", "suitability").label).not.toBe("low_mrm");
  });
});

describe.skipIf(!found.ok)("the same traces in the Python package", () => {
  test("give what the page says that they give", () => {
    expect(cell("overwritten", "retention_summary", "retention_p50_s")).toBe(3);
    expect(cell("tensors", "retention_summary", "retention_p99_s")).toBeGreaterThan(10);
    expect(Number(cell("read_before", "retention_summary", "retention_p50_s"))).toBeLessThan(0);
    expect([0, 256e-9]).toContain(Number(cell("late", "retention_summary", "retention_p50_s")));
    expect(cell("uneven", "suitability", "write_once_ratio_mean")).toBe(0.5);
    expect(cell("blocks", "working_set_summary", "total_bytes")).toBe(16 * PAGE);
    expect(theirs.get("together")?.tables?.iai).toEqual([]);
    expect(cell("threads", "locality_summary", "same_page_fraction")).toBe(0);
    expect(cell("read_only", "read_freq", "reads_per_write")).toBe(0);
    expect(cell("read_only", "suitability", "suitability")).toBe("low_mrm");
  });
});
