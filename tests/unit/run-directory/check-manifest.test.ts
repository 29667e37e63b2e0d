import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkManifest } from "../../../src/run-directory/check-manifest.ts";
import { writeManifest } from "../../../src/run-directory/manifest.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-check-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

/** A run of three files, with its manifest. */
async function newRun(): Promise<string> {
  const run = join(root, `run-${count++}`);
  mkdirSync(join(run, "capture/access"), { recursive: true });
  writeFileSync(join(run, "capture/access/1-0.parquet"), "rows");
  writeFileSync(join(run, "capture/facts.json"), "{}");
  writeFileSync(join(run, "metrics.csv"), "a,b");
  await writeManifest(run, "r");
  return run;
}

test("a run that nobody touched is what its manifest says", async () => {
  expect(await checkManifest(await newRun())).toEqual({
    n_files: 3,
    size_bytes: 9,
    missing: [],
    changed: [],
    unlisted: [],
  });
});

test("what was changed, removed or added is named, links and what is unfinished among it", async () => {
  const run = await newRun();
  writeFileSync(join(run, "capture/access/1-0.parquet"), "rowS");
  rmSync(join(run, "metrics.csv"));
  writeFileSync(join(run, "capture/access/2-1.parquet.partial"), "");
  symlinkSync("/etc/hostname", join(run, "capture/access/3-2.parquet"));
  writeFileSync(join(run, "notes"), "");
  expect(await checkManifest(run)).toMatchObject({
    missing: ["metrics.csv"],
    changed: ["capture/access/1-0.parquet"],
    unlisted: ["capture/access/2-1.parquet.partial", "capture/access/3-2.parquet", "notes"],
  });
});

test("an analysis hides no change: its manifest keeps what the first said of capture/", async () => {
  const run = await newRun();
  writeFileSync(join(run, "capture/facts.json"), "{ }");
  rmSync(join(run, "capture/access/1-0.parquet"));
  await writeManifest(run, "r");
  expect(await checkManifest(run)).toMatchObject({
    missing: ["capture/access/1-0.parquet"],
    changed: ["capture/facts.json"],
  });
});

test("a link or a pipe in place of a listed file is refused, and never opened", async () => {
  for (const replace of [
    (path: string) => symlinkSync("/etc/hostname", path),
    (path: string) => spawnSync("mkfifo", [path]),
  ]) {
    const run = await newRun();
    const path = join(run, "capture/facts.json");
    rmSync(path);
    replace(path);
    expect(await checkManifest(run).catch((error: unknown) => error)).toMatchObject({
      code: "data_quality",
      message: expect.stringContaining("capture/facts.json is in the manifest, and is no regular file"),
    });
  }
});

test("a file below a linked folder counts as missing", async () => {
  const run = await newRun();
  rmSync(join(run, "capture/access"), { recursive: true });
  symlinkSync("/etc", join(run, "capture/access"));
  expect(await checkManifest(run)).toMatchObject({
    missing: ["capture/access/1-0.parquet"],
    unlisted: ["capture/access"],
  });
});
