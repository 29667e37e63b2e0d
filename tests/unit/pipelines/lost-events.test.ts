import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { analyse } from "../../../src/pipelines/analyse.ts";
import { renderRun } from "../../../src/report/table.ts";
import { unknownFacts, writeFacts } from "../../../src/run-directory/facts.ts";
import { readMetadata } from "../../../src/run-directory/metadata.ts";
import type { FigureSource, LedgerRow, LedgerStream, Stage } from "../../../src/schema/ledger.ts";
import type { RunReport } from "../../../src/schema/run-json.ts";
import { ledgerRow } from "../../fixtures/ledger.ts";
import { writeHandMadeRun } from "../label/hand-made-run.ts";

const output = mkdtempSync(join(tmpdir(), "mrm-lost-"));
const options = { output, force: true, seed: 1, period: null };
let runDir = "";

beforeEach(() => {
  if (runDir !== "") rmSync(runDir, { recursive: true });
  runDir = writeHandMadeRun();
});
afterAll(() => {
  for (const path of [runDir, output]) rmSync(path, { recursive: true, force: true });
});

const LOST: readonly (readonly [LedgerStream, FigureSource | null, Stage, FigureSource[]])[] = [
  ["engine", null, "ring", ["step", "region_map"]],
  ["access", "pebs", "observe", ["pebs"]],
  ["access", "watch", "decode", ["watch"]],
];

test.each(LOST)(
  "half of the events of %s (source %p) lost at %s are told in every file of the run",
  async (...lost) => {
    const [stream, source, stage, harmed] = lost;
    const ledger: LedgerRow[] = [
      ledgerRow({ stream: "fault", source: "fault", stage: "ring" }, 1_000_000),
      ledgerRow({ stream, source, stage }, 1000, 500),
    ];
    const facts = unknownFacts("hand", "m", "", "target_ended");
    writeFacts(runDir, { ...facts, ledger: ledger.map((row) => ({ ...row })) });
    const { report, directory } = await analyse(runDir, options);
    const shares: RunReport["loss"] = [
      ...harmed.map((name) => ({ source: name, lost_pct: 50 })),
      { source: "fault", lost_pct: 0 },
    ];
    expect(report.loss).toEqual(shares);
    expect(readMetadata(directory.metadata).metadata.loss).toEqual(shares);
    const printed = renderRun(report, { width: 200, color: false, unicode: true });
    expect(printed).toContain(`(${harmed.map((name) => `${name} 50 %`).join(", ")})`);
    const rows = report.metrics.filter((row) => (harmed as string[]).includes(row.source));
    expect(rows.length).toBeGreaterThan(0);
    expect(
      rows.filter(({ lost_pct, value, lo, hi }) => lost_pct !== 50 || value !== null || lo !== null || hi !== null),
    ).toEqual([]);
  },
);
