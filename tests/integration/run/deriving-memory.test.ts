/** How much memory deriving takes of a run that holds very many of one thing: it has a bound, and does not follow their number. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeLargeCache } from "../../fixtures/large-cache.ts";
import { writeLargeRun } from "../../fixtures/large-run.ts";
import { writeLargeWatches } from "../../fixtures/large-watches.ts";
import { mostMemoryOf } from "../../fixtures/most-memory.ts";
import { CLI } from "./cli.ts";

setDefaultTimeout(120_000);
const folder = mkdtempSync(join(tmpdir(), "mrm-large-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const analyse = (run: string, ...options: readonly string[]) =>
  mostMemoryOf([process.execPath, CLI, "analyse", "--quiet", ...options, join(folder, run)]);

test("four million rows of a KV cache are not held one by one", () => {
  expect(writeLargeCache(join(folder, "cache"), { requests: 40, answer: 448, tensors: 200 })).toBe(4_096_000);
  const { exitCode, bytes } = analyse("cache");
  expect(exitCode).toBe(0);
  // A process with nothing to derive has 150 MB; nine bytes for each row, and what writing all leaves behind, took 478 MB.
  expect(bytes).toBeLessThan(350e6);
});

test("watches of one class are gone over without what each figure made of them", () => {
  writeLargeWatches(join(folder, "watches"), 5000);
  const { exitCode, bytes } = analyse("watches");
  expect(exitCode).toBe(0);
  // It takes 290 MB, of which a process with nothing to derive has 150. Groups that were all held took a hundred more, where figures alone are made.
  expect(bytes).toBeLessThan(350e6);
});

test("more mappings at one time than fit are refused before they are held, with what to do", () => {
  writeLargeRun(join(folder, "workers"), { churn: 0, processes: 0, workers: 1500, mappings: 100 });
  const { exitCode, bytes, stderr } = analyse("workers", "--memory", "261MiB");
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/the run holds more than 11\dk mappings at one time/);
  expect(stderr).toContain("mrm-trace analyse RUN_DIR --memory 2GiB");
  expect(bytes).toBeLessThan(350e6);
});
