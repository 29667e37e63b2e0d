import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase, parquetScan, quote, quotePath } from "../../../src/sql/database.ts";

test("a pipe in the place of a file is refused, and not waited for", () => {
  const root = mkdtempSync(join(tmpdir(), "mrm-sql-"));
  try {
    const pipe = join(root, "rows.parquet");
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    expect(() => parquetScan([pipe])).toThrow(`${pipe} is no regular file`);
    expect(parquetScan([join(root, "absent.parquet")])).toContain("absent.parquet");
  } finally {
    rmSync(root, { recursive: true });
  }
});

const FOLDERS = ["plain", "pl*n", "pl?in", "[p]lain", "it's"];

test("a path means the one file of that name, whatever the engine takes for a pattern", async () => {
  const root = mkdtempSync(join(tmpdir(), "mrm-sql-"));
  try {
    await using database = await openDatabase();
    for (const name of FOLDERS) {
      mkdirSync(join(root, name));
      const path = join(root, name, "rows.parquet");
      await database.run(`COPY (SELECT ${quote(name)} AS folder) TO ${quote(path)} (FORMAT parquet)`);
    }
    for (const name of FOLDERS) {
      const path = join(root, name, "rows.parquet");
      expect(await database.rows(`SELECT folder, filename FROM ${parquetScan([path], "filename = true")}`)).toEqual([
        { folder: name, filename: path },
      ]);
      expect(await database.rows(`SELECT num_rows AS n FROM parquet_file_metadata(${quotePath(path)})`)).toEqual([
        { n: 1n },
      ]);
    }
  } finally {
    rmSync(root, { recursive: true });
  }
});
