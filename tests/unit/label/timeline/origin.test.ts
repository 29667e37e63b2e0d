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

test("a run does not begin with the engines that were recognised before anything was recorded", async () => {
  const runDir = join(folder, "recognised");
  const row = { pid: 7, tid: 7, engine: "llama.cpp", detail: null } as const;
  const steps = (kinds: readonly (readonly [string, bigint])[]) =>
    kinds.map(
      ([kind, timestamp_ns]) => ({ ...row, kind, timestamp_ns }) as Parameters<typeof writeStream<"step">>[2][number],
    );
  writeStream(
    runDir,
    "step",
    steps([
      ["engine", ORIGIN],
      ["probes", ORIGIN + 1n],
      ["decode", ORIGIN + 700n],
    ]),
  );
  await using database = await openDatabase();
  const found = await runWindow(database, await openCapture(runDir));
  expect(found).toMatchObject({ origin_ns: ORIGIN + 700n, window_ns: 0 });
  // Where its rows lie in its files is as it was.
  expect([...found.times.values()]).toEqual([{ first: ORIGIN, last: ORIGIN + 700n }]);
  const alone = join(folder, "alone");
  writeStream(
    alone,
    "step",
    steps([
      ["engine", ORIGIN],
      ["probes", ORIGIN + 1n],
    ]),
  );
  expect(await runWindow(database, await openCapture(alone))).toMatchObject({ origin_ns: ORIGIN, window_ns: 1 });
});

test("times that lie centuries apart are data of poor quality, and no internal error", async () => {
  const error: unknown = await windowOf("damaged", [ORIGIN, 2n ** 63n]).catch((caught: unknown) => caught);
  expect(error).toMatchObject({
    code: "data_quality",
    message: expect.stringMatching(/\d+ days apart, more than the 104/),
  });
});
