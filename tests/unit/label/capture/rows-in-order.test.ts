import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCapture } from "../../../../src/label/capture/capture.ts";
import { rowsInOrder } from "../../../../src/label/capture/rows-in-order.ts";
import { openDatabase } from "../../../../src/sql/database.ts";
import { mmap } from "../../../fixtures/mapping-rows.ts";
import { writeStream } from "../hand-made-run.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newRun(): string {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-rows-"));
  folders.push(runDir);
  return runDir;
}

/** Times and first pages of the rows as they come. */
async function orderOf(runDir: string) {
  await using database = await openDatabase({ threads: 1 });
  const capture = await openCapture(runDir);
  const { rows, incomplete } = await rowsInOrder(database, capture, "mapping");
  const told = [...rows()].map(({ timestamp_ns, addr }) => [Number(timestamp_ns), Number(addr >> 12n)]);
  return { told, incomplete, skipped: capture.skipped.map(({ reason }) => reason) };
}

test("rows of segments that overlap come in order of time, those of one time as they were written", async () => {
  const runDir = newRun();
  writeStream(runDir, "mapping", [mmap(1, 1, 1), mmap(5, 2, 1), mmap(3, 3, 1)], 0);
  writeStream(runDir, "mapping", [mmap(3, 4, 1), mmap(2, 5, 1), mmap(9, 6, 1)], 1);
  const { told, incomplete } = await orderOf(runDir);
  expect(told).toEqual([
    [1, 1],
    [2, 5],
    [3, 3],
    [3, 4],
    [5, 2],
    [9, 6],
  ]);
  expect(incomplete).toBe(0);
});

test("a segment that only the SQL engine reads has its rows among the others, and one that nobody reads costs only itself", async () => {
  const runDir = newRun();
  const first = writeStream(runDir, "mapping", [mmap(1, 1, 1), mmap(6, 2, 1)], 0);
  const other = writeStream(runDir, "mapping", [mmap(4, 3, 1)], 1);
  {
    await using database = await openDatabase({ threads: 1 });
    const rows = await database.rows(`SELECT count(*) AS n FROM read_parquet('${other}')`);
    expect(rows).toEqual([{ n: 1n }]);
    await database.run(`COPY (SELECT * FROM read_parquet('${other}')) TO '${other}.copy' (FORMAT parquet)`);
    await Bun.write(other, Bun.file(`${other}.copy`));
    rmSync(`${other}.copy`);
  }
  expect((await orderOf(runDir)).told).toEqual([
    [1, 1],
    [4, 3],
    [6, 2],
  ]);
  const bytes = new Uint8Array(await Bun.file(first).arrayBuffer());
  // The pages lie behind the first four bytes.
  writeFileSync(first, bytes.fill(0xff, 4, Math.floor(bytes.length / 4)));
  const { told, skipped } = await orderOf(runDir);
  expect(told).toEqual([[4, 3]]);
  expect(skipped.length).toBe(1);
});
