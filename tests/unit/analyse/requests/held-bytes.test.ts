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

test("a sequence holds what it wrote and did not give up, whatever the others do, and nothing is told where rows are missing", async () => {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-held-"));
  try {
    const row = (pid: number, sequence_id: number | null, write_ns: bigint, evict_ns: bigint | null, tensor = "k") => ({
      ...nullsOf(TABLE),
      ...{
        pid,
        sequence_id,
        write_ns,
        evict_ns,
        tensor,
        size_bytes: 64n,
        evidence: "step" as const,
        filling: 0,
        moves: 0n,
      },
    });
    const rows = [
      row(7, 0, 10n, null),
      row(7, 0, 20n, 30n),
      row(7, 0, 40n, null),
      row(7, 1, 15n, null),
      row(9, 0, 5n, null),
      row(9, 0, 5n, null, "v"),
      row(9, 0, 6n, null),
      row(7, null, 5n, null),
    ];
    writeParquetFile(join(runDir, `${TABLE}.parquet`), TABLE, [batchFromRows(TABLE, rows)]);
    await using database = await openDatabase({ threads: 1 });
    const at = (id: number, at_ns: bigint, tokens: number, sequence = 0, pid = 7) => ({
      ...{ id, pid, sequence, at_ns, tokens },
    });
    const held = await heldBytes(database, runDir, [
      at(1, 9n, 0),
      at(2, 10n, 1),
      at(3, 25n, 2),
      at(4, 30n, 1),
      at(5, 99n, 2),
      at(6, 99n, 1, 1),
      at(7, 99n, 1, 2),
      at(8, 5n, 1, 0, 9),
      at(9, 99n, 2, 0, 9),
      at(10, 99n, 3),
    ]);
    // What is written or given up in the very moment is so by then; of the first and the seventh there is no row, of the
    // last two there are fewer than they have tokens.
    expect([...held].toSorted(([a], [b]) => a - b)).toEqual([
      [2, 64n],
      [3, 128n],
      [4, 64n],
      [5, 128n],
      [6, 64n],
      [8, 128n],
    ]);
    expect((await heldBytes(database, runDir, [])).size).toBe(0);
  } finally {
    rmSync(runDir, { recursive: true });
  }
});
