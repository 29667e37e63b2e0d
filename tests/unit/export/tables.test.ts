import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import type { Batch } from "../../../src/columnar/batch.ts";
import { arrow } from "../../../src/export/arrow.ts";
import { csv } from "../../../src/export/csv.ts";
import type { ExportTask, FileFormat } from "../../../src/export/export-format.ts";
import { openNewFile } from "../../../src/export/new-file.ts";
import type { RunTable } from "../../../src/run-directory/table-files.ts";
import { batchWith } from "../../fixtures/row-with.ts";

/** The bytes of a table that has these batches, and the shares of the work that were told. */
async function bytesOf(format: FileFormat, batches: readonly Batch<RunTable>[]) {
  const folder = mkdtempSync(join(tmpdir(), "mrm-table-"));
  const shares: (number | null)[] = [];
  const rows = batches.reduce((sum, batch) => sum + batch.rows, 0);
  const run = { batches: () => batches, countRows: () => rows };
  const goOn = async (_: number, share: number | null) => void shares.push(share);
  // A table asks for nothing else of a run.
  const task = { run, table: "fault", goOn } as unknown as ExportTask;
  try {
    using file = openNewFile(join(folder, "made"), false);
    await format.write({ ...task, table: batches[0]?.table ?? "fault" }, file);
    file.finish();
    return { bytes: readFileSync(join(folder, "made")), shares };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("a table as text", () => {
  test("has a line of names and one for each row, with every digit of what 64 bits hold", async () => {
    const fault = {
      timestamp_ns: 2n ** 63n + 1n,
      address: 2n ** 64n - 1n,
      ip: 7n,
      pid: 1,
      tid: 2,
      fault_flags: 3,
      cpu: 4,
    };
    const { bytes } = await bytesOf(csv, [batchWith("fault", [fault]), batchWith("fault", [{ pid: 9 }])]);
    expect(bytes.toString()).toBe(
      "timestamp_ns,address,ip,pid,tid,fault_flags,cpu\n9223372036854775809,18446744073709551615,7,1,2,3,4\n0,0,0,9,0,0,0\n",
    );
  });

  test("quotes what would be read as something else, and tells an empty text from none", async () => {
    const rows = ['a "b", c', "two\nlines", "=1+1", "", null].map((name) => ({ name }));
    const { bytes } = await bytesOf(csv, [batchWith("tensor", rows)]);
    expect(bytes.toString()).toContain(',tensor,"a ""b"", c",');
    expect(bytes.toString()).toContain(',"two\nlines",');
    expect(bytes.toString()).toContain(",'=1+1,");
    expect(bytes.toString()).toContain(',tensor,"",,');
    expect(bytes.toString()).toContain(",tensor,,,");
  });

  test("of no rows is the line of names", async () => {
    expect((await bytesOf(csv, [])).bytes.toString()).toBe("timestamp_ns,address,ip,pid,tid,fault_flags,cpu\n");
  });
});

describe("a table as an Arrow file", () => {
  test("keeps batch after batch, and says after each how much is done", async () => {
    const { bytes, shares } = await bytesOf(arrow, [
      batchWith("fault", [{ pid: 1 }, { pid: 2 }]),
      batchWith("fault", [{ pid: 3 }, { pid: 4 }]),
    ]);
    const table = tableFromIPC(bytes);
    expect([table.batches.length, table.getChild("pid")?.toJSON()]).toEqual([2, [1, 2, 3, 4]]);
    expect(shares).toEqual([0.5, 1]);
  });

  test("of no rows has its columns", async () => {
    const table = tableFromIPC((await bytesOf(arrow, [])).bytes);
    expect([table.numRows, table.schema.fields.length]).toEqual([0, 7]);
  });
});
