import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MrmTraceError } from "../../../../src/errors.ts";
import { datasetFiles } from "../../../../src/export/dataset/dataset.ts";
import type { ExportTask } from "../../../../src/export/export-format.ts";
import { openNewFolder } from "../../../../src/export/new-folder.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-dataset-"));
afterAll(() => rmSync(root, { recursive: true }));

const task = { goOn: async () => {} } as unknown as ExportTask;

test("a file of a run is copied as it is, with its digest", async () => {
  const path = join(root, "curves.parquet");
  const bytes = Uint8Array.from({ length: 700_000 }, (_, i) => i % 251);
  writeFileSync(path, bytes);
  using folder = openNewFolder(join(root, "copied"), false);
  const files = datasetFiles(folder, task);
  await files.copy("data/curves.parquet", path);
  await files.end();
  folder.finish();
  expect(readFileSync(join(root, "copied/data/curves.parquet")).equals(Buffer.from(bytes))).toBe(true);
  const sum = Bun.spawnSync(["sha256sum", "--check", "SHA256SUMS"], { cwd: join(root, "copied") });
  expect(sum.exitCode).toBe(0);
});

test("a link, a pipe and a folder in the place of a file are published by nobody", async () => {
  writeFileSync(join(root, "secret"), "of nobody's");
  symlinkSync(join(root, "secret"), join(root, "link.parquet"));
  expect(Bun.spawnSync(["mkfifo", join(root, "pipe.parquet")]).exitCode).toBe(0);
  using folder = openNewFolder(join(root, "refused"), false);
  for (const path of ["link.parquet", "pipe.parquet", "."].map((name) => join(root, name))) {
    const copying = datasetFiles(folder, task).copy("table.parquet", path);
    await expect(copying).rejects.toThrow(MrmTraceError);
    await expect(copying).rejects.toThrow(`${path} cannot be read`);
  }
});
