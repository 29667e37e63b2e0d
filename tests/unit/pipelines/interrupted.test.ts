import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MrmTraceError } from "../../../src/errors.ts";
import { importFile } from "../../../src/pipelines/import.ts";
import { scrub } from "../../../src/pipelines/scrub.ts";
import { unknownFacts, writeFacts } from "../../../src/run-directory/facts.ts";
import { writeHandMadeRun } from "../label/hand-made-run.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-interrupted-"));
let runDir = "";
beforeAll(() => {
  runDir = writeHandMadeRun();
  writeFacts(runDir, unknownFacts("r", "m", "2026-11-21T10:15:00.000Z", "target_ended"));
});
afterAll(() => rmSync(folder, { recursive: true }));
afterAll(() => rmSync(runDir, { recursive: true, force: true }));

const REASON = new MrmTraceError("interrupted", "interrupted while writing", "run it again");

test.each(["looking through", "deriving everything anew"])(
  "a scrubbed run that is ended while %s is gone",
  async (moment) => {
    const abort = new AbortController();
    const request = {
      ...{ runDir, out: join(folder, "shared"), run_id: undefined, force: false, signal: abort.signal },
      say: (line: string) => {
        if (line.startsWith(moment)) abort.abort(REASON);
      },
    };
    expect(await scrub(request).catch((error: unknown) => error)).toBe(REASON);
    expect(existsSync(join(folder, "shared/scrubbed"))).toBe(false);
    expect(readdirSync(runDir)).not.toContain(".mrm-trace.lock");
  },
);

test("an import that is ended leaves nothing", async () => {
  const file = join(folder, "perf.txt");
  const line = "python3 7/7 1.000000001: 1 cpu/mem-loads/P: 7f1234500000 68100142 30 401000\n";
  writeFileSync(file, line.repeat(3));
  const request = { file, output: join(folder, "imported"), run_id: undefined, force: false } as const;
  const signal = AbortSignal.abort(REASON);
  const ended = importFile({ ...request, record_command: "masked", signal }).catch((error: unknown) => error);
  expect(await ended).toBe(REASON);
  expect(existsSync(join(folder, "imported/perf.txt"))).toBe(false);
});
