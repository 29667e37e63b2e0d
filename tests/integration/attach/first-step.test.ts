import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { affinityCpus } from "../../../src/kernel/libc.ts";
import { attachTo } from "../../performance/attached-run.ts";
import { startDecoder } from "../../performance/running-decoder.ts";

test("from the moment that it records, attaching misses no step of an engine that had loaded its model before", async () => {
  const cpus = affinityCpus(0);
  await using decoder = await startDecoder("1m", String(cpus[0]));
  const output = mkdtempSync(join(tmpdir(), "mrm-first-step-"));
  try {
    const tracer = await attachTo(decoder.pid, { cpu: String(cpus.at(-1)), output, args: ["--watch-registers", "0"] });
    const { tokens } = await decoder.decode({ prompts: 2, seconds: null });
    const run = await tracer.end();
    expect(run).toMatchObject({ decodeTokens: tokens, promptTokens: 2 * 66 });
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
});
