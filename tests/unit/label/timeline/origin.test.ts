import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCapture } from "../../../../src/label/capture/capture.ts";
import { runWindow } from "../../../../src/label/timeline/origin.ts";
import { openDatabase } from "../../../../src/sql/database.ts";
import { ORIGIN, writeStream } from "../hand-made-run.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-origin-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function windowOf(name: string, times: readonly bigint[]) {
  const runDir = join(folder, name);
  writeStream(
    runDir,
    "fault",
    times.map((timestamp_ns) => ({ timestamp_ns, address: 1n, ip: 1n, pid: 7, tid: 7, fault_flags: 0, cpu: 0 })),
  );
  await using database = await openDatabase();
  return await runWindow(database, await openCapture(runDir));
}

test("a run begins with its first time and lasts to its last", async () => {
  expect(await windowOf("ordinary", [ORIGIN, ORIGIN + 5n])).toMatchObject({ origin_ns: ORIGIN, window_ns: 5 });
});

test("times that lie centuries apart are data of poor quality, and no internal error", async () => {
  const error: unknown = await windowOf("damaged", [ORIGIN, 2n ** 63n]).catch((caught: unknown) => caught);
  expect(error).toMatchObject({
    code: "data_quality",
    message: expect.stringMatching(/\d+ days apart, more than the 104/),
  });
});
