import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { openDatabase } from "../../src/sql/database.ts";
import { endLeftRuns, outputFolder, QUICK, runCli } from "../integration/run/cli.ts";

afterEach(endLeftRuns);

interface Step {
  readonly begin: number;
  readonly end: number;
  readonly tokens: number;
  readonly position: number;
}

interface Hit {
  readonly time: number;
  readonly op: string;
}

interface Watch {
  readonly id: number;
  readonly begin: number;
  readonly end: number;
  readonly mode: string;
  readonly region_type: string;
  readonly tensor: string;
  readonly row: number | null;
  readonly hits: Hit[];
}

/** What a look found in memory, and the resident set before and after it, all in bytes. */
interface FoundInMemory {
  readonly found: number;
  readonly before: number;
  readonly after: number;
}

interface Demo {
  readonly report: { readonly labels: unknown[]; readonly metrics: Record<string, unknown>[] };
  readonly steps: Step[];
  readonly watches: Watch[];
  readonly loaded: number;
  readonly looks: FoundInMemory[];
  /** Bytes of all regions in memory at the fullest look, as the areas of report.html are drawn. */
  readonly drawn: number;
  readonly flashAttention: string[];
}

/** Traps closer than this belong to one pass over the word. */
const PASS_US = 50;
const MATMUL = /^(blk\.\d+\.(attn_(q|k|v|output)|ffn_(gate|up|down))|output)\.weight$/;

/** Runs the demo and reads from its capture, in microseconds since its first step, what the tests need. */
async function runDemo(): Promise<Demo> {
  const ended = await runCli(["run", "--json", ...QUICK, "--seconds", "30", "--seed", "5", "--output", outputFolder()]);
  expect(ended.exitCode).toBe(0);
  const report = JSON.parse(ended.stdout) as Demo["report"] & { run_dir: string };
  const stream = (name: string): string => `read_parquet('${report.run_dir}/capture/${name}/*.parquet')`;
  await using database = await openDatabase();
  const first = `(SELECT min(timestamp_ns) FROM ${stream("step")})`;
  const at = (column: string): string => `((${column}::HUGEINT - ${first}) / 1e3)::DOUBLE`;
  const steps = await database.rows(
    `SELECT ${at("timestamp_ns")} AS "begin", ${at("end_ns")} AS "end", n_tokens AS tokens, position_first AS position
     FROM ${stream("step")} WHERE kind = 'decode' AND end_ns IS NOT NULL ORDER BY 1`,
  );
  const loads = await database.rows(
    `SELECT max(${at("end_ns")}) AS t FROM ${stream("step")} WHERE kind IN ('model_load', 'context')`,
  );
  const contexts = await database.rows(
    `SELECT DISTINCT json_extract_string(detail, '$.flash_attention') AS fa FROM ${stream("step")} WHERE kind = 'context'`,
  );
  const hits = await database.rows(
    `SELECT watch_id AS id, ${at("timestamp_ns")} AS time, op_type AS op FROM ${stream("access")} ORDER BY 2`,
  );
  const byWatch = Map.groupBy(hits, (hit) => Number(hit.id));
  const watches = await database.rows(
    `SELECT w.watch_id AS id, ${at("w.timestamp_ns")} AS "begin", ${at("w.end_ns")} AS "end", mode, w.region_type AS region_type, w.tensor AS tensor,
       CASE WHEN t.addr IS NULL THEN NULL
            ELSE ((w.addr - t.addr)::DOUBLE / (t.size_bytes::DOUBLE / split_part(t.shape, 'x', 2)::DOUBLE)) END AS row_at
     FROM ${stream("watch")} w LEFT JOIN (SELECT * FROM ${stream("tensor")} WHERE region_type = 'kv_cache' AND kind = 'tensor') t
       ON t.name = w.tensor AND w.addr BETWEEN t.addr AND t.addr + t.size_bytes - 1`,
  );
  const looks = await database.rows(
    `SELECT found, p.rss_bytes AS before, q.rss_bytes AS after
     FROM (SELECT pid, min(timestamp_ns) AS begin_ns, max(end_ns) AS end_ns, sum(size_bytes) FILTER (kind = 'resident') AS found
           FROM ${stream("residency")} GROUP BY pid, look HAVING found > 0) l
     ASOF JOIN ${stream("process")} p ON l.pid = p.pid AND l.begin_ns >= p.timestamp_ns
     ASOF JOIN ${stream("process")} q ON l.pid = q.pid AND l.end_ns <= q.timestamp_ns`,
  );
  const [drawn] = await database.rows(
    `SELECT sum(resident_fullest_bytes) AS bytes FROM read_parquet('${report.run_dir}/region_map.parquet')`,
  );
  return {
    report,
    looks: looks.map(({ found, before, after }) => ({
      found: Number(found),
      before: Number(before),
      after: Number(after),
    })),
    drawn: Number(drawn?.bytes),
    steps: steps.map((s) => ({
      begin: Number(s.begin),
      end: Number(s.end),
      tokens: Number(s.tokens),
      position: Number(s.position),
    })),
    watches: watches.map((w) => ({
      id: Number(w.id),
      begin: Number(w.begin),
      end: Number(w.end),
      mode: String(w.mode),
      region_type: String(w.region_type),
      tensor: String(w.tensor),
      row: w.row_at === null || w.row_at === undefined ? null : Math.floor(Number(w.row_at)),
      hits: (byWatch.get(Number(w.id)) ?? []).map((hit) => ({ time: Number(hit.time), op: String(hit.op) })),
    })),
    loaded: Number(loads[0]?.t),
    flashAttention: contexts.map((row) => String(row.fa)),
  };
}

/** Starts of the passes among hits in order of time. */
function passes(hits: readonly Hit[]): number[] {
  const starts: number[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const { time } of hits) {
    if (time - last > PASS_US) starts.push(time);
    last = time;
  }
  return starts;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

describe("the demo, watched", () => {
  let demo: Demo;
  let decodes: Step[];
  beforeAll(async () => {
    demo = await runDemo();
    decodes = demo.steps.filter((step) => step.tokens === 1);
  }, 120_000);

  /** Index of the decode step that holds a time; -1 outside. */
  const stepAt = (time: number): number => decodes.findIndex((step) => step.begin <= time && time <= step.end);

  test("a look finds in memory what the resident set has, and the areas of the page are all of it", () => {
    expect(demo.looks.length).toBeGreaterThan(2);
    const apart = demo.looks.map(({ found, before, after }) =>
      Math.max(0, Math.min(before, after) - found, found - Math.max(before, after)),
    );
    // The kernel tells the resident set to 32 pages a CPU and kind, and buffers come and go between its reading and a look.
    expect(median(apart)).toBeLessThan(2 ** 20);
    const fullest = Math.max(...demo.looks.map(({ found }) => found));
    expect(demo.drawn / fullest).toBeLessThanOrEqual(1);
    expect(demo.drawn / fullest).toBeGreaterThan(0.97);
  });

  test("flash attention was asked for and is what the engine says", () => {
    expect(demo.flashAttention).toEqual(["on"]);
  });

  test("every byte of a matmul weight is passed over once in every token, so the interval is the token period", () => {
    const ratios: number[] = [];
    const skipped: string[] = [];
    let split = 0;
    for (const watch of demo.watches) {
      if (!MATMUL.test(watch.tensor) || watch.mode === "w") continue;
      const starts = passes(watch.hits);
      for (const [i, start] of starts.entries()) {
        const last = starts[i - 1];
        if (last === undefined) continue;
        const before = stepAt(last);
        const after = stepAt(start);
        if (before < 0 || after < 0) continue;
        const period = (decodes[after]?.begin ?? 0) - (decodes[before]?.begin ?? 0);
        if (after === before) split += 1;
        else if (after - before > 1) skipped.push(`${watch.tensor}: ${after - before} steps, ${start - last} us`);
        // A prefill between two decodes is no token period.
        else if (period < 2 * median(periods())) ratios.push((start - last) / period);
      }
    }
    expect(ratios.length).toBeGreaterThan(200);
    expect(Math.abs(median(ratios) - 1)).toBeLessThan(0.05);
    expect(skipped).toEqual([]);
    // The scheduler may take the CPU between the loads of one pass: rare, and never a token without its pass.
    expect(split / ratios.length).toBeLessThan(0.02);
  });

  const periods = (): number[] => decodes.slice(1).map((step, i) => step.begin - (decodes[i]?.begin ?? 0));

  test("nothing is written to a weight after load", () => {
    const after = demo.watches.filter((watch) => watch.region_type === "weight" && watch.begin > demo.loaded);
    expect(after.length).toBeGreaterThan(30);
    expect(after.flatMap((watch) => watch.hits).filter((hit) => hit.op === "store" || hit.op === "load_store")).toEqual(
      [],
    );
  });

  test("a word of K or V is written by the token of its row, and read once by that and every later token", () => {
    const wrong: string[] = [];
    let words = 0;
    let reads = 0;
    let writes = 0;
    for (const watch of demo.watches) {
      if (watch.region_type !== "kv_cache" || watch.row === null) continue;
      const inside = decodes.filter((step) => step.begin > watch.begin && step.end < watch.end);
      if (inside.length > 0) words += 1;
      for (const step of inside) {
        const own = watch.hits.filter((hit) => hit.time >= step.begin && hit.time <= step.end);
        const stores = own.filter((hit) => hit.op === "store");
        const loads = passes(own.filter((hit) => hit.op === "load"));
        const expected = {
          stores: watch.row === step.position ? 1 : 0,
          loads: watch.mode === "w" ? 0 : watch.row <= step.position ? 1 : 0,
        };
        reads += loads.length;
        writes += stores.length;
        if (stores.length === expected.stores && loads.length === expected.loads) continue;
        wrong.push(
          `${watch.tensor} row ${watch.row} (watch ${watch.id}, ${watch.mode}) at position ${step.position}: ${stores.length} stores, ${loads.length} read passes of hits "${own.map(({ op }) => op).join(" ")}"`,
        );
      }
    }
    expect(wrong).toEqual([]);
    expect(words).toBeGreaterThan(40);
    expect(reads).toBeGreaterThan(100);
    expect(writes).toBeGreaterThan(3);
  });

  test("no figure stands without its method, its samples and, where it has a value, its interval", () => {
    for (const metric of demo.report.metrics) {
      expect(metric.method).not.toBe("");
      if (metric.status === "ok" && metric.value !== null) {
        expect([metric.metric, metric.lo !== null, metric.hi !== null]).toEqual([metric.metric, true, true]);
      }
      if (metric.status !== "ok") expect([metric.metric, String(metric.why).length > 0]).toEqual([metric.metric, true]);
    }
  });
});
