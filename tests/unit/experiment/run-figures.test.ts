import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readFigures } from "../../../src/experiment/run-figures.ts";
import { encodeParquet } from "../../fixtures/encode-parquet.ts";
import { batchWith } from "../../fixtures/row-with.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-run-figures-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("figures of a run are those with a value, of classes as a whole, in the order of the file", () => {
  const run = mkdtempSync(join(folder, "run-"));
  const rows = batchWith("metrics", [
    { metric: "b", region_type: "weight", step: "decode", source: "watch", value: 2, status: "ok", grain_bytes: 64 },
    { metric: "a", region_type: "weight", step: "decode", source: "watch", value: 1, status: "ok" },
    { metric: "c", value: 3, status: "bound" },
    { metric: "d", value: null, status: "ok" },
    { metric: "e", value: 5, status: "ok", mapping_kind: "heap" },
  ]);
  writeFileSync(join(run, "metrics.parquet"), encodeParquet("metrics", [rows]));
  expect(readFigures(run)).toEqual([
    { metric: "b", region_type: "weight", step: "decode", source: "watch", grain_bytes: 64, value: 2 },
    { metric: "a", region_type: "weight", step: "decode", source: "watch", grain_bytes: null, value: 1 },
  ]);
});

test("figures in a pipe, or in what is no Parquet file, cannot be read, and nothing is waited for", () => {
  const run = mkdtempSync(join(folder, "run-"));
  expect(() => readFigures(run)).toThrow("cannot read");
  expect(Bun.spawnSync(["mkfifo", join(run, "metrics.parquet")]).exitCode).toBe(0);
  expect(() => readFigures(run)).toThrow("it is no regular file");
  rmSync(join(run, "metrics.parquet"));
  writeFileSync(join(run, "metrics.parquet"), "PAR1 or not");
  expect(() => readFigures(run)).toThrow("cannot read");
});
