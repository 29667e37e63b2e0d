import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { heldBytes } from "../../../../src/analyse/requests/held-bytes.ts";
import { batchFromRows } from "../../../../src/columnar/rows.ts";
import { writeParquetFile } from "../../../../src/columnar/write/parquet-writer.ts";
import { nullsOf } from "../../../../src/schema/row.ts";
import { openDatabase } from "../../../../src/sql/database.ts";

const TABLE = "kv_block_lifecycle";

test("a sequence holds what it wrote and did not give up, whatever the others do", async () => {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-held-"));
  try {
    const row = (pid: number, sequence_id: number | null, write_ns: bigint, evict_ns: bigint | null) => ({
      ...nullsOf(TABLE),
      ...{ pid, sequence_id, write_ns, evict_ns, size_bytes: 64n, evidence: "step" as const, filling: 0 },
    });
    const rows = [
      row(7, 0, 10n, null),
      row(7, 0, 20n, 30n),
      row(7, 0, 40n, null),
      row(7, 1, 15n, null),
      row(9, 0, 5n, null),
      row(7, null, 5n, null),
    ];
    writeParquetFile(join(runDir, `${TABLE}.parquet`), TABLE, [batchFromRows(TABLE, rows)]);
    await using database = await openDatabase({ threads: 1 });
    const at = (id: number, at_ns: bigint, sequence = 0, pid = 7) => ({ id, pid, sequence, at_ns });
    const held = await heldBytes(database, runDir, [
      at(1, 9n),
      at(2, 10n),
      at(3, 25n),
      at(4, 30n),
      at(5, 99n),
      at(6, 99n, 1),
      at(7, 99n, 2),
      at(8, 99n, 0, 9),
    ]);
    // What is written or given up in the very moment is so by then; of the seventh no row is known.
    expect([...held].toSorted()).toEqual([
      [1, 0n],
      [2, 64n],
      [3, 128n],
      [4, 64n],
      [5, 128n],
      [6, 64n],
      [8, 64n],
    ]);
    expect((await heldBytes(database, runDir, [])).size).toBe(0);
  } finally {
    rmSync(runDir, { recursive: true });
  }
});
