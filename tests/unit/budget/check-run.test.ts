import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020";
import fc from "fast-check";
import { annotations } from "../../../src/budget/annotations.ts";
import { checkRun } from "../../../src/budget/check-run.ts";
import { judge } from "../../../src/budget/judge.ts";
import { junitXml } from "../../../src/budget/junit.ts";
import { renderCheck } from "../../../src/budget/table.ts";
import { schemaText } from "../../../src/commands/schema.ts";
import { readBudget } from "../../../src/config/budget-file.ts";
import { type RunReport, toJson } from "../../../src/schema/run-json.ts";
import { cacheRows, endsRow, reportOf, weightRows } from "../../fixtures/asked-of-memory.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-budget-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, "budget.yaml");

const process_ = { scope: "process", phase: "all", step: "all", region_type: "unknown" } as const;
const report = (change: Partial<RunReport> = {}): RunReport =>
  reportOf(
    [
      ...weightRows(),
      ...cacheRows(),
      endsRow("write_once_ratio", "weight", [1, 1, 1], { step: "all", unit: "ratio" }),
      endsRow("rss_peak_bytes", "unknown", [280e6, 280e6, 281e6], process_),
    ],
    change,
  );

function check(text: string, run = report()) {
  writeFileSync(path, text);
  return checkRun(run, readBudget(path), path);
}
test("of a figure of the process that two sources have, that of the one that tells is held", () => {
  const silent = endsRow("rss_peak_bytes", "unknown", [null, null, null], { ...process_, source: "process" });
  const other = endsRow("rss_peak_bytes", "unknown", [null, 280e6, null], { ...process_, source: "allocation" });
  const { checks } = check("metrics: [{ metric: rss_peak_bytes, max: 200MB }]", reportOf([silent, other]));
  expect(checks[0]).toMatchObject({ verdict: "beyond", source: "allocation" });
});

const refusal = (text: string): { code: string; message: string; hint: string } => {
  try {
    check(text);
  } catch (error) {
    return error as { code: string; message: string; hint: string };
  }
  throw new Error(`taken: ${text}`);
};
const one = (limit: string): string => `metrics: [{ ${limit} }]`;

describe("a limit", () => {
  test.each([
    ["the whole interval keeps it", "metric: read_bytes_per_s, class: kv_cache, max: 9GB/s", "within", 0],
    ["the whole interval is above it", "metric: read_bytes_per_s, class: kv_cache, max: 7GB/s", "beyond", 5],
    ["the whole interval is below it", "metric: read_bytes_per_s, class: kv_cache, min: 9GB/s", "beyond", 5],
    ["the interval holds it", "metric: read_bytes_per_s, class: kv_cache, max: 8GB/s", "open", 4],
    ["a bound decides", "metric: resident_bytes, class: kv_cache, max: 200MB", "within", 0],
    ["a bound does not decide", "metric: resident_bytes, class: kv_cache, max: 150MB", "open", 4],
    ["a bound from below is above it", "metric: retention_p99_ns, class: kv_cache, max: 29s", "beyond", 5],
    ["the run could not tell", "metric: retention_p50_ns, class: weight, max: 1s", "open", 4],
    ["the run has no such class", "metric: resident_bytes, class: activation, max: 1GB", "open", 4],
    ["the run has no such step", "metric: read_bytes_per_s, class: weight, step: prefill, max: 1TB/s", "open", 4],
    ["a count is its own interval", "metric: write_once_ratio, class: weight, min: 100%", "within", 0],
    ["it is of the process", "metric: rss_peak_bytes, max: 281MB", "within", 0],
    ["a label is one of those", "metric: suitability, class: weight, is: [high_mrm, kept_throughout]", "within", 0],
    ["a label is none of those", "metric: suitability, class: weight, is: [high_mrm]", "beyond", 5],
    ["there is no label", "metric: suitability, class: kv_cache, is: [high_mrm]", "open", 4],
  ])("%s", (_what, limit, verdict, exit_code) => {
    const found = check(one(limit));
    expect<unknown>([found.checks[0]?.verdict, found.verdict, found.exit_code]).toEqual([verdict, verdict, exit_code]);
    if (verdict === "open" && found.checks[0]?.status !== "ok" && found.checks[0]?.status !== "bound") {
      expect(found.checks[0]?.why).toMatch(/\S/);
    }
  });

  test("that is beyond goes before one that is open, and one that is open before those that are kept", () => {
    const within = "{ metric: rss_peak_bytes, max: 1GB }";
    const open = "{ metric: resident_bytes, class: kv_cache, max: 150MB }";
    const beyond = "{ metric: rss_peak_bytes, max: 1MB }";
    expect(check(`metrics: [${within}, ${open}]`).exit_code).toBe(4);
    expect(check(`metrics: [${open}, ${beyond}, ${within}]`).exit_code).toBe(5);
  });

  test("of the run as a whole is held against what watching cost, what it lost and how valid it is", () => {
    const { observer, loss } = report();
    const slow = { ...observer, slowdown_pct: { value: 1, lo: 0.5, hi: 3, method: "model" as const }, cpu_pct: 7 };
    const run = report({ observer: slow, validity: "marginal", reasons: ["busy"] });
    const found = check("validity: clean\nlost: 100%\ntracer: { slowdown: 2%, cpu: 10, memory: 100GiB }", run);
    const verdicts = Object.fromEntries(found.checks.map(({ what, verdict }) => [what, verdict]));
    expect(verdicts).toMatchObject({ validity: "beyond", "tracer.slowdown": "open", "tracer.cpu": "within" });
    expect(found.checks[0]).toMatchObject({ what: "validity", why: "busy", line: 1 });
    expect(check("validity: marginal", run).exit_code).toBe(0);
    const unknown = { ...slow, slowdown_pct: { ...slow.slowdown_pct, value: null, lo: null, hi: null } };
    expect(check("tracer: { slowdown: 2 }", report({ observer: unknown })).checks[0]).toMatchObject({
      verdict: "open",
      why: "it was not measured",
    });
    const lost = [{ ...(loss[0] ?? { source: "watch" as const }), lost_pct: 3 }];
    expect(check("lost: 1", report({ loss: lost })).exit_code).toBe(5);
  });

  test("is never kept by an interval that reaches past it, nor broken by one that does not leave it", () => {
    const end = fc.option(fc.double({ min: 0, max: 10, noNaN: true }), { nil: null });
    fc.assert(
      fc.property(end, end, end, end, fc.double({ min: 0, max: 10, noNaN: true }), (a, b, min, max, truth) => {
        const [lo, hi] = a !== null && b !== null && a > b ? [b, a] : [a, b];
        fc.pre((lo !== null || hi !== null) && (lo === null || truth >= lo) && (hi === null || truth <= hi));
        const isKept = (max === null || truth <= max) && (min === null || truth >= min);
        const verdict = judge({ status: "bound", value: null, lo, hi }, { min, max });
        if (verdict === "within") expect(isKept).toBe(true);
        if (verdict === "beyond") expect(isKept).toBe(false);
      }),
      { seed: 20261123, numRuns: 500 },
    );
  });
});

describe("a budget that is not right", () => {
  test.each([
    ["", "is empty"],
    ["name: nothing", "limits nothing"],
    ["metircs: []", "did you mean metrics?"],
    [
      one("metric: resident_byte, class: weight, max: 1GB"),
      'unknown metric, but received "resident_byte"; did you mean resident_bytes?',
    ],
    [one("metric: resident_bytes, class: wieght, max: 1GB"), "did you mean weight?"],
    [one("metric: resident_bytes, max: 1GB"), "resident_bytes is of a class of data"],
    [one("metric: rss_peak_bytes, class: weight, max: 1GB"), "of the process, and of no class"],
    [one("metric: resident_bytes, class: weight"), "max or min expected"],
    [
      one("metric: resident_bytes, class: weight, max: 5s"),
      "it is in bytes: a size with its unit expected (write it as 64MB or 1GiB)",
    ],
    [
      one("metric: resident_bytes, class: weight, max: 500"),
      "it is in bytes: text with its unit expected, such as 200MiB",
    ],
    [one("metric: retention_p50_ns, class: weight, max: '5'"), "it is in ns: text with its unit expected, such as 5ms"],
    [one("metric: read_bytes_per_s, class: weight, max: 5GB"), "a rate with its unit expected"],
    [one("metric: reads_per_write, class: weight, max: 5s"), "a number expected"],
    [one("metric: reads_per_write, class: weight, max: -5"), "a number of 0 or more expected"],
    [one("metric: resident_bytes, class: weight, max: 1GB, min: 2GB"), "it is above max"],
    [one("metric: suitability, class: weight, max: 1"), "suitability has a label"],
    [one("metric: resident_bytes, class: weight, max: 1GB, is: [a]"), "resident_bytes has no label"],
    [one("metric: resident_bytes, class: weight, step: decoding, max: 1GB"), "one of prefill, decode, all expected"],
    ["validity: spotless", "one of clean, marginal, contaminated expected"],
    ["lost: 5s", "a number of percent expected"],
    ["tracer: { memory: 5 }\nlost: -1", "a number of percent expected"],
  ])("is refused with the place and the fix: %s", (text, words) => {
    const { code, message, hint } = refusal(text);
    expect(code).toBe("usage");
    expect(`${message}\n${hint}`).toContain(words);
    expect(`${message}\n${hint}`).not.toMatch(/Invalid input|NaN/);
    expect(message).toContain(path);
  });

  test("has all its problems told at once, each with its line", () => {
    const { message } = refusal("metrics:\n  - { metric: a, max: 1 }\n  - { metric: rss_peak_bytes, max: 1 }\n");
    expect(message).toMatch(/2 problems/);
    expect(message).toMatch(/budget\.yaml:2:\d+: metrics\[0\]\.metric/);
    expect(message).toMatch(/budget\.yaml:3:\d+: metrics\[1\]\.max/);
  });
});

const EVIL = "weight</testcase><script>&\"'\u001b[2J\n::error::x\u0000%0A";

/** A run and a budget with names that would be read as commands or markup. */
function hostile() {
  const rows = [
    endsRow("resident_bytes", "unknown", [null, null, 9e9], {
      mapping_kind: EVIL,
      phase: "all",
      step: "all",
      why: EVIL,
    }),
  ];
  const run = { ...reportOf(rows, { validity: "contaminated", reasons: [EVIL] }), run_id: EVIL, run_dir: EVIL };
  const limit = { metric: "resident_bytes", class: EVIL.trim(), max: "1GB" };
  return check(JSON.stringify({ name: EVIL, validity: "clean", metrics: [limit] }), run);
}

describe("names from outside", () => {
  test("cannot begin a line of their own, or a command, in annotations", () => {
    const lines = annotations(hostile()).trimEnd().split("\n");
    expect(lines.map((line) => line.split(" ")[0])).toEqual(["::error", "::warning", "budget"]);
    expect(lines.join("\n")).not.toContain("\u001b");
    // What the runner would turn back into a line break is itself escaped.
    expect(lines.join("\n")).not.toMatch(/%0A/);
  });

  test("cannot move the cursor, or stand at the beginning of a line, in the table", () => {
    const text = renderCheck(hostile(), { width: 100, color: false, unicode: true });
    expect(text).not.toContain("\u001b");
    for (const line of text.split("\n")) expect(line).not.toStartWith("::");
  });

  test("leave the XML without a control character or an element of theirs", () => {
    const xml = junitXml(hostile());
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what is looked for
    expect(xml).not.toMatch(/[\u0000-\u0008\u000b-\u001f]/);
    expect(xml).not.toContain("<script");
  });
});

test("what is printed as JSON is an object of its schema, and the example is taken by that of budgets", async () => {
  const compiled = async (name: string) =>
    new Ajv2020({ strict: true, allowUnionTypes: true }).compile(JSON.parse(await schemaText(name, false)));
  const validate = await compiled("check");
  expect(validate(JSON.parse(toJson(hostile()))) ? [] : validate.errors).toEqual([]);
  const example = new URL("../../../config/budget.yaml", import.meta.url).pathname;
  const { parse } = await import("yaml");
  const takes = await compiled("budget");
  expect(takes(parse(await Bun.file(example).text())) ? [] : takes.errors).toEqual([]);
  expect(checkRun(report(), readBudget(example), example).checks.length).toBeGreaterThan(5);
});
