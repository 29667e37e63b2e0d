/** The page of evidence, read by a Markdown parser. */
import { describe, expect, test } from "bun:test";
import { type CardInput, cardText } from "../../../src/card/card.ts";
import { code } from "../../../src/card/markdown.ts";
import { metadataWith } from "../../fixtures/run-metadata.ts";
import { demoReport, metricRow } from "../../fixtures/run-report.ts";

const FILE = { size_bytes: 5, sha256: "ab".repeat(32) };
const manifest = {
  sha256: "cd".repeat(32),
  content: {
    manifest_schema_version: "1.0",
    run_id: "r",
    created_at_utc: "2026-11-23T08:00:00+00:00",
    files: [
      { path: "capture/step/1-0.parquet", ...FILE },
      { path: "metrics.parquet", ...FILE },
    ],
  },
};

function input(change: Partial<CardInput> = {}): CardInput {
  return { report: demoReport(), metadata: metadataWith(), manifest, version: "0.1.0", ...change };
}
const html = (text: string): string => Bun.markdown.html(text);
const elements = (page: string): string[] => [
  ...new Set([...page.matchAll(/<([a-z0-9]+)[\s>]/g)].map(([, name]) => name ?? "")),
];

describe("a card", () => {
  test("says what ran, how, where, how valid it is, what was measured, and which files say so", () => {
    const page = html(cardText(input()));
    const titles = [...page.matchAll(/<h2[^>]*>(.*?)<\/h2>/g)].map(([, title]) => title);
    expect(titles).toEqual([
      "What ran",
      "How it was observed",
      "Machine and versions",
      "Validity",
      "Figures",
      "Cost and loss",
      "Files",
    ]);
    for (const said of ["EPYC", "6.18", "2026-11-21T10:00:00.000Z", manifest.sha256, FILE.sha256, "budget=1"]) {
      expect(page).toContain(said);
    }
    expect(page).toContain(demoReport().target.command[0] ?? "?");
    expect(page).toContain("mrm-trace verify");
  });

  test("has each figure with its interval as the report prints it, and the reason of what has none", () => {
    const rows = [
      metricRow("read_bytes_per_s", "weight", [2 ** 30, 2 ** 29, 2 ** 31]),
      metricRow("retention_p50_ns", "weight", null, { why: "no write in the run" }),
      metricRow("retention_p99_ns", "weight", null, { status: "bound", lo: 3e9, why: "few ends" }),
    ];
    const text = cardText(input({ report: { ...demoReport(), metrics: rows, labels: [] } }));
    expect(text).toContain("| `weight` | `read_bytes_per_s` | `1.00 GiB/s [0.500, 2.00]` | 64 | `watch` | `decode` |");
    expect(text).toContain("| `retention_p50_ns` | `not identifiable` (1) |");
    expect(text).toContain("| `retention_p99_ns` | `≥ 3.00 s` (2) |");
    expect(text).toContain("1. `no write in the run`\n2. `few ends`");
  });

  test("says so where nothing can be told, and where there is no manifest", () => {
    const text = cardText(input({ manifest: null, report: { ...demoReport(), metrics: [], labels: [] } }));
    expect(text).toContain("No figure of this run can be told.");
    expect(text).toContain("no manifest");
  });
});

const EVIL =
  "`` </code><script>alert(1)</script>\n# Title\n[link](http://x) ![i](y) | <b> \u001b[2J\u202e http://evil.org";

test("options are said as a command line would, with their units", () => {
  const options = { source: ["watch", "clock"], max_size: 2 ** 32, duration: 2e9 };
  const text = cardText(input({ metadata: metadataWith({ options }) }));
  expect(text).toContain("- options: `source=watch,clock max_size=4GiB duration=2s`");
});

describe("names from outside", () => {
  test("are text and nothing else, wherever they stand", () => {
    const demo = demoReport();
    const rows = [metricRow("suitability", "weight", null, { status: "ok", label: EVIL, why: EVIL, source: EVIL })];
    const report = {
      ...demo,
      ...{ model_id: EVIL, run_id: EVIL, run_dir: EVIL, reasons: [EVIL], warnings: [EVIL], not_measured: [EVIL] },
      target: { ...demo.target, command: [EVIL, EVIL] },
      collectors: [{ name: EVIL, sources: [EVIL], why_not_better: EVIL }],
      metrics: [...rows, metricRow("read_bytes_per_s", "unknown", [1, 1, 1], { mapping_kind: EVIL })],
    };
    const files = [{ path: EVIL.replaceAll("/", ""), ...FILE }];
    const metadata = metadataWith({
      engine: null,
      engines: [{ name: EVIL, objects: [`/usr/lib/${EVIL}`] }],
      software: { os: EVIL, kernel: EVIL, mrm_trace: EVIL },
      stopped_by: EVIL,
      options: { source: EVIL },
    });
    const hostile = { ...manifest, content: { ...manifest.content, files } };
    const text = cardText(input({ report, metadata, manifest: hostile }));
    const page = html(text);
    expect(elements(page).sort()).toEqual(
      ["code", "h1", "h2", "li", "ol", "p", "table", "tbody", "td", "th", "thead", "tr", "ul"].sort(),
    );
    expect([...page.matchAll(/<h2/g)]).toHaveLength(7);
    // Every row has the cells of its head: a bar in a name ends none.
    const [figures = ""] = page.match(/<table>.*?<\/table>/s) ?? [];
    for (const [row] of figures.matchAll(/<tr>.*?<\/tr>/gs)) expect(row.match(/<t[dh][ >]/g)).toHaveLength(6);
    expect(text).not.toContain("\u001b");
    expect(text).not.toContain("\u202e");
  });

  test.each(["a`b", "``", "`", "a``b`c", " x ", "", "\\", "a\\|b"])("are kept as they are in code: %j", (text) => {
    const shown = text.trim() === "" ? "(nothing)" : `<code>${text.trim()}</code>`;
    expect(html(code(text))).toContain(shown);
  });
});
