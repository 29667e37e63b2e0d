import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { runJsonSchema } from "../../../src/schema/run-json.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

afterEach(endLeftRuns);

const metadataSchema = z.looseObject({
  watch: z.looseObject({
    budget: z.looseObject({ turns: z.array(z.object({ begin_ns: z.string(), budget_pct: z.number() })) }),
  }),
});

test("--check-invariance has two budgets by turns, and says where there were too few of them", async () => {
  const ended = await runCli([
    "run",
    "--json",
    "--check-invariance",
    "--budget",
    "2",
    ...QUICK,
    "--output",
    outputFolder(),
    "--",
    "sh",
    "-c",
    "i=0; end=$(($(date +%s) + 4)); while [ $(date +%s) -lt $end ]; do :; done",
  ]);
  expect(ended.exitCode).toBe(0);
  const report = runJsonSchema.parse(jsonOf(ended));
  const metadata = metadataSchema.parse(JSON.parse(readFileSync(join(report.run_dir, "metadata.json"), "utf8")));
  const { turns } = metadata.watch.budget;
  // What the timer leaves of it, which takes a tenth at most: whole and a quarter by turns.
  const [whole = 0, quarter = 0] = turns.map(({ budget_pct }) => budget_pct);
  expect(whole).toBeLessThanOrEqual(2);
  expect(whole).toBeGreaterThanOrEqual(1.8);
  expect(quarter).toBeCloseTo(whole / 4, 12);
  const begins = turns.map(({ begin_ns }) => BigInt(begin_ns));
  expect(begins).toEqual(begins.toSorted((a, b) => Number(a - b)));
  expect(report.invariance === null).toBe(turns.length < 10);
  const warning = report.warnings.find((text) => text.startsWith("--check-invariance"));
  expect(warning).toBe(
    `--check-invariance: ${turns.length} turns of the budget are too few; a run of 30 s has about 24`,
  );
}, 60_000);
