import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRun } from "../../../src/api/open-run.ts";
import { readSavedRun } from "../../../src/compare/saved-run.ts";
import { MrmTraceError } from "../../../src/errors.ts";
import { analyse } from "../../../src/pipelines/analyse.ts";
import { listSegments } from "../../../src/run-directory/segment-files.ts";
import { JSON_SCHEMA_VERSION, SCHEMA_VERSION_KEY } from "../../../src/schema/versions.ts";
import { writeHandMadeRun } from "../label/hand-made-run.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-versions-"));
const options = { output: join(folder, "results"), force: true, seed: 1, period: null };
let made = "";
let copies = 0;

beforeAll(async () => {
  made = writeHandMadeRun();
  await analyse(made, options);
});
afterAll(() => {
  for (const path of [made, folder]) rmSync(path, { recursive: true, force: true });
});

function copyOfRun(): string {
  const path = join(folder, `copy-${copies++}`);
  cpSync(made, path, { recursive: true });
  return path;
}

/** Makes a Parquet file one of the next major version. */
function ofTheNextVersion(path: string): void {
  const bytes = readFileSync(path);
  const key = bytes.lastIndexOf(SCHEMA_VERSION_KEY);
  const version = bytes.indexOf("1.0", key);
  if (key < 0 || version < 0 || version - key > 40) throw new Error(`${path} names no version`);
  bytes.write("2.0", version);
  // In place of the file: a trace may be a link to a part.
  rmSync(path);
  writeFileSync(path, bytes);
}

function jsonOfTheNextVersion(path: string): void {
  writeFileSync(
    path,
    readFileSync(path, "utf8").replace(`"schema_version": "${JSON_SCHEMA_VERSION}"`, '"schema_version": "3.0"'),
  );
}

const refusal = (act: () => unknown): Promise<unknown> =>
  (async () => act())().then(
    () => "it was read",
    (error: unknown) => error,
  );

const segmentOf = (runDir: string): string => listSegments(runDir, "access")[0]?.path ?? "";

test.each([
  ["analyse of a run with such a segment", segmentOf, ofTheNextVersion, (dir: string) => analyse(dir, options)],
  [
    "analyse of such a trace",
    (dir: string) => join(dir, "trace.parquet"),
    ofTheNextVersion,
    (dir: string) => analyse(join(dir, "trace.parquet"), options),
  ],
  [
    "openRun of a stream with such a segment",
    segmentOf,
    ofTheNextVersion,
    (dir: string) => openRun(dir).table("access"),
  ],
  [
    "openRun of such a derived file",
    (dir: string) => join(dir, "region_map.parquet"),
    ofTheNextVersion,
    (dir: string) => openRun(dir).table("region_map"),
  ],
  [
    "compare with such metrics",
    (dir: string) => join(dir, "metrics.parquet"),
    ofTheNextVersion,
    (dir: string) => readSavedRun(dir),
  ],
  [
    "openRun with such metadata",
    (dir: string) => join(dir, "metadata.json"),
    jsonOfTheNextVersion,
    (dir: string) => openRun(dir),
  ],
  [
    "compare with such metadata",
    (dir: string) => join(dir, "metadata.json"),
    jsonOfTheNextVersion,
    (dir: string) => readSavedRun(dir),
  ],
])("a file of another major version is refused in the same words by %s", async (_verb, fileOf, change, act) => {
  const runDir = copyOfRun();
  const path = fileOf(runDir);
  change(path);
  const error = await refusal(() => act(runDir));
  expect(error).toBeInstanceOf(MrmTraceError);
  expect(error).toMatchObject({
    code: "data_quality",
    exitCode: 4,
    message: expect.stringMatching(
      / has schema version (2\.0; this mrm-trace reads 1\.0|3\.0; this mrm-trace reads 2\.\d+)$/,
    ),
    hint: expect.stringContaining("the version of mrm-trace that wrote it"),
  });
});

test("facts of another major version are refused in the same words", async () => {
  const runDir = copyOfRun();
  writeFileSync(join(runDir, "capture", "facts.json"), '{"schema_version":"1.0"}');
  expect(await refusal(() => analyse(runDir, options))).toMatchObject({
    code: "data_quality",
    message: `${join(runDir, "capture", "facts.json")} has schema version 1.0; this mrm-trace reads ${JSON_SCHEMA_VERSION}`,
  });
});

test("a file of another minor version is read", async () => {
  const runDir = copyOfRun();
  const path = join(runDir, "region_map.parquet");
  const bytes = readFileSync(path);
  bytes.write("1.9", bytes.indexOf("1.0", bytes.lastIndexOf(SCHEMA_VERSION_KEY)));
  writeFileSync(path, bytes);
  expect(openRun(runDir).table("region_map").numRows).toBeGreaterThan(0);
});

test("a trace that cannot be read leaves no run directory, and is called by its own name", async () => {
  const output = join(folder, "from-no-trace");
  const path = join(folder, "no-trace.parquet");
  const refused = () => refusal(() => analyse(path, { ...options, output, run_id: "left" }));
  writeFileSync(path, "this is no Parquet file");
  expect(await refused()).toMatchObject({ code: "data_quality", message: expect.stringContaining(path) });
  expect(existsSync(output)).toBe(false);
  // Only the SQL engine sees that this is none.
  writeFileSync(path, "PAR1 this is no Parquet file PAR1");
  expect(await refused()).toMatchObject({ code: "data_quality", message: expect.stringContaining(path) });
  expect(existsSync(output)).toBe(false);
});
