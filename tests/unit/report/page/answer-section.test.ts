import { describe, expect, test } from "bun:test";
import { renderAnswer } from "../../../../src/report/answer.ts";
import { answerOfRun } from "../../../../src/report/page/answer-section.ts";
import { countIds } from "../../../../src/report/page/figure-button.ts";
import { figuresOfRun } from "../../../../src/report/page/figures-section.ts";
import { renderRun } from "../../../../src/report/table.ts";
import type { RunReport } from "../../../../src/schema/run-json.ts";
import { demoReport, metricRow, plainReport } from "../../../fixtures/run-report.ts";

const terminal = { width: 400, color: false, unicode: true };

/** The text of the elements of one kind, without markup. */
function textsOf(markup: string, pattern: RegExp): string[] {
  return [...markup.matchAll(pattern)].map(([, inner = ""]) =>
    inner
      .replace(/<[^>]*>/g, "")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&#39;", "'")
      .replaceAll("&quot;", '"')
      .replaceAll("&amp;", "&"),
  );
}

/** Cells of a table of the terminal: two spaces and more stand between. */
const cellsOf = (line: string): string[] => line.split(/ {2,}/).map((cell) => cell.replace(/ *[█░]+$/, "").trim());

/** The rows of the answer as the page has them: the question, then a cell for each class. */
function pageRows(report: RunReport): string[][] {
  const { markup } = answerOfRun(report, countIds("why"));
  return [...markup.matchAll(/<tr class="\w+">(.*?)<\/tr>/gs)].map(([, row = ""]) => [
    ...textsOf(row, /<th scope="row">([^<]*)/g),
    ...textsOf(row, /<td>(?:<button[^>]*>)?(.*?)(?:<\/button>.*?)?<\/td>/gs),
  ]);
}

/** The demo with a cache that may have been larger between two looks. */
const lookedReport = (): RunReport => {
  const looked = metricRow("resident_bytes", "kv_cache", [40_960, 40_960, 487_424], { phase: "all", step: "all" });
  return demoReport({ metrics: [...demoReport().metrics, looked] });
};

describe("the answer on the page", () => {
  test.each([
    ["a demo", demoReport()],
    ["a program without an engine", plainReport()],
    ["a run with a look at its pages", lookedReport()],
  ])("of %s has the numbers of the terminal", (_what, report) => {
    const lines = renderAnswer(report, terminal).split("\n").map(cellsOf);
    const rows = pageRows(report);
    expect(rows.length).toBeGreaterThan(6);
    for (const row of rows) {
      const line = lines.find(([label]) => label === row[0]);
      expect(row).toEqual(line ?? []);
    }
    const { markup } = answerOfRun(report, countIds("why"));
    for (const key of ["process", "tokens", "cost", "lost"]) {
      const text =
        lines
          .find(([label]) => label === key)
          ?.slice(1)
          .join("  ") ?? "nothing";
      expect(textsOf(markup, /<dd>(.*?)<\/dd>/gs)).toContain(text);
    }
  });

  test("draws a size that may have been larger between two looks as a bound up to its upper end", () => {
    const { markup } = answerOfRun(lookedReport(), countIds("why"));
    expect(markup).toMatch(/40 to 480 KiB.*?<meter class="bound" [^>]* value="487424"/s);
  });

  test("has the sizes where nothing else was learnt, and says that of the rest", () => {
    const looked = metricRow("resident_bytes", "weight", [1e6, 1e6, 1e6], { phase: "all", step: "all" });
    const { markup } = answerOfRun(demoReport({ metrics: [looked] }), countIds("why"));
    expect(markup).toContain("977 KiB");
    expect(textsOf(markup, /<p class="warn">(.*?)<\/p>/gs)).toEqual([
      "too little was seen for any other figure of a class of data",
    ]);
    const nothing = answerOfRun(demoReport({ metrics: [] }), countIds("why")).markup;
    expect(textsOf(nothing, /<p class="warn">(.*?)<\/p>/gs)).toEqual([
      "too little was seen for any figure of a class of data",
    ]);
  });

  test("names the classes of which nothing is known below the table, in place of a column of words", () => {
    const row = metricRow("retention_p50_ns", "unknown", null, { mapping_kind: "vdso", status: "insufficient" });
    const labels = demoReport().labels.filter(({ region_type }) => region_type !== "unknown");
    const known = metricRow("working_set_bytes", "unknown", [1, 1, 1], { mapping_kind: "stack" });
    const { markup } = answerOfRun(
      demoReport({ labels, metrics: [...demoReport().metrics, row, known] }),
      countIds("why"),
    );
    expect(markup).not.toContain("vdso");
    expect(textsOf(markup, /<th scope="col">(.*?)<\/th>/gs)).toEqual([
      "weight",
      "kv_cache",
      "activation",
      "runtime",
      "stack",
    ]);
    const silent = demoReport({
      labels,
      metrics: demoReport().metrics.filter((one) => one.region_type !== "activation"),
    });
    const without = { ...silent, labels: labels.filter(({ region_type }) => region_type !== "activation") };
    const stillNamed = [
      ...without.metrics,
      metricRow("retention_p50_ns", "activation", null, { status: "insufficient" }),
    ];
    expect(answerOfRun({ ...without, metrics: stillNamed }, countIds("why")).markup).toContain(
      "Too little was seen of: activation.",
    );
  });

  test("has what the requests of our client took, and nothing of those that nobody asked for", () => {
    const sums = { prompt_tokens: null, reused_tokens: null, output_tokens: 400, streamed_tokens: 400 };
    const times = { ttft_ms: null, wait_ms: null, token_gap_ms: null, kv_bytes: null };
    const requests = { ...sums, ...times, requests: 2, answered: 2, why: null };
    const { markup } = answerOfRun(demoReport({ requests }), countIds("why"));
    expect(markup).toContain("<dt>requests</dt><dd>2 of 2 answered; answers 400 tokens</dd>");
    const unknown = { ...requests, requests: null, answered: null, why: "not identifiable" };
    expect(answerOfRun(demoReport({ requests: unknown }), countIds("why")).markup).not.toContain("<dt>requests</dt>");
  });

  test("begins with the failure of the command", () => {
    const { target } = demoReport();
    const { markup } = answerOfRun(demoReport({ target: { ...target, exit_code: 3 } }), countIds("why"));
    expect(markup).toStartWith('<p class="bad" role="alert">the command ended with exit code 3</p>');
  });

  test("says of every figure its samples, its method, its share and its reason", () => {
    const { markup } = answerOfRun(demoReport(), countIds("why"));
    const explained = textsOf(markup, /<span id="why\d+" hidden>(.*?)<\/span>/gs);
    expect(explained).toContainEqual(
      [
        "retention_p50_ns: ≥ 28.1 s",
        "n = 118, 104 of them censored; from watch, over decode, grain 8 B",
        "method: Kaplan-Meier, log-log Greenwood",
        "seen over 30.0 s",
        "stands for 93 % of the bytes or of the time",
        "reason: more than half of the rows were alive at the end of the run",
      ].join("\n"),
    );
  });
});

describe("every figure on the page", () => {
  test("stands in the table of the terminal too", () => {
    const report = demoReport();
    const table = renderRun(report, terminal);
    const { markup } = figuresOfRun(report, countIds("why"));
    const figures = textsOf(markup, /<button[^>]*>(.*?)<\/button>/gs);
    expect(figures.length).toBeGreaterThan(30);
    const missing = figures.filter((figure) => !table.includes(figure) && figure !== "not identifiable");
    expect(missing).toEqual([]);
  });
});
