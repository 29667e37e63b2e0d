import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { numberAt } from "../../../src/columnar/cell.ts";
import { readStream } from "../../fixtures/parquet-by-wasm.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

afterEach(endLeftRuns);

test("a run records what the machine tells of heat, and says in words what it does not", async () => {
  const args = ["run", "--json", ...QUICK, "--watch-registers", "0", "--output", outputFolder(), "--", "sleep", "2.5"];
  const report = jsonOf(await runCli(args));
  const runDir = String(report.run_dir);
  const { thermal, validity } = JSON.parse(readFileSync(join(runDir, "metadata.json"), "utf8"));
  expect(thermal.run_validity).toBe(validity.class);
  // At the start, each second, and at the end.
  expect(thermal.samples).toBeGreaterThanOrEqual(3);
  expect(thermal.steal_pct).toBeGreaterThanOrEqual(0);
  const told = {
    throttling: thermal.throttle_events,
    temperature: thermal.peak_temp_c,
    frequency: thermal.cpu_freq_max_mhz,
  };
  const absent = Object.entries(told).flatMap(([name, value]) => (value === null ? [name] : []));
  expect(thermal.not_measured.map((why: string) => why.split(":")[0])).toEqual(absent);
  const words = { throttling: "thermal throttling", temperature: "peak temperature" };
  for (const [name, word] of Object.entries(words)) {
    expect((report.not_measured as string[]).includes(word)).toBe(absent.includes(name));
  }
  const batches = [...readStream(runDir, "process")];
  const readings = batches.flatMap(({ rows, columns }) =>
    Array.from({ length: rows }, (_, row) => numberAt(columns.steal_ns, row)).filter((value) => value !== null),
  );
  expect(readings.length).toBeGreaterThanOrEqual(thermal.samples);
});
