import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { openRun } from "../../../src/api/open-run.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { mostMemoryOf } from "../../fixtures/most-memory.ts";
import { CLI, endLeftRuns, QUICK, runCli } from "../run/cli.ts";

setDefaultTimeout(120_000);

const folder = mkdtempSync(join(tmpdir(), "mrm-long-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(endLeftRuns);
const build = await fetchLlamaServer(BUILDS.process);
if (!build.ok) process.stderr.write(`skipped: a long sequence of llama.cpp: ${build.reason}\n`);
const DRIVER = new URL("../../fixtures/llama_long.py", import.meta.url).pathname;

/**
 * A prompt by batches, each of which the engine divides in four, then single tokens. Twice as many tokens take the engine
 * four times as long, which is too much for each change.
 */
const [BATCHES, BATCH, ANSWER] = [8, 2016, 256];
const ROWS = BATCHES * BATCH + ANSWER;
const CACHES = ["cache_k_l0", "cache_v_l0"];
const ROW_BYTES = 64;

const driverSays = z.object({ failed: z.literal(0), cpu_s: z.number() });

/** Steps behind the one that wrote a row, each of which needs it. */
const readsOf = (position: number): number =>
  position < BATCHES * BATCH ? BATCHES - 1 - Math.floor(position / BATCH) + ANSWER : ROWS - 1 - position;

test.skipIf(!build.ok)(
  "one sequence of 16,384 tokens has each of its rows once, in its cell, with as many reads as steps came behind it",
  async () => {
    if (!build.ok) return;
    const [library = ""] = build.objects;
    const said = join(folder, "said");
    const sizes = [BATCHES * BATCH, BATCH, ANSWER].map(String);
    const command = ["sh", "-c", 'exec "$@" > "$0"', said, "python3", DRIVER, library, folder, ...sizes];
    const args = ["run", "--record-only", "--json", "--ebpf", "engine", ...QUICK, "--output", folder];
    const ended = await runCli([...args, "--", ...command], { env: build.env });
    const { cpu_s } = driverSays.parse(JSON.parse(readFileSync(said, "utf8")));
    const { run_dir } = z.object({ run_dir: z.string() }).parse(JSON.parse(ended.stdout));
    const derived = mostMemoryOf([process.execPath, CLI, "analyse", "--quiet", run_dir]);
    expect(derived.exitCode).toBe(0);
    const shares = [derived.cpu_s / cpu_s, derived.bytes / 2 ** 20].map((one) => one.toFixed(1));
    process.stderr.write(
      `${ROWS} rows in 2 tensors: derived in ${shares[0]} of the CPU time of the engine, by ${shares[1]} MiB\n`,
    );
    // A process with nothing to derive has 150 MB.
    expect(derived.bytes).toBeLessThan(350e6);

    using run = openRun(run_dir);
    const regions = run.table("region_map").toArray();
    const rows = run.table("kv_block_lifecycle").toArray();
    expect(rows.length).toBe(CACHES.length * ROWS);
    for (const name of CACHES) {
      const [cache, ...others] = regions.filter(({ tensor }) => tensor === name);
      expect([Number(cache?.size_bytes), others]).toEqual([ROWS * ROW_BYTES, []]);
      const mine = rows.filter(({ tensor }) => tensor === name);
      const wrong = mine.filter(
        ({ position, address, total_reads, sequence_id, size_bytes }, i) =>
          position !== i ||
          address !== (cache?.addr ?? 0n) + BigInt(ROW_BYTES * i) ||
          Number(total_reads) !== readsOf(i) ||
          sequence_id !== 0 ||
          Number(size_bytes) !== ROW_BYTES,
      );
      expect([mine.length, wrong.slice(0, 3)]).toEqual([ROWS, []]);
    }
  },
);
