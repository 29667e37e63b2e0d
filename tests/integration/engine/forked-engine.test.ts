import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { openRun } from "../../../src/api/open-run.ts";
import { readGgufFile } from "../../../src/engine/gguf/file.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { endLeftRuns, jsonOf, QUICK, runCli } from "../run/cli.ts";

setDefaultTimeout(120_000);

const folder = mkdtempSync(join(tmpdir(), "mrm-forks-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(endLeftRuns);
const build = await fetchLlamaServer(BUILDS.process);
if (!build.ok) process.stderr.write(`skipped: a process that forks with a model: ${build.reason}\n`);
const DRIVER = new URL("../../fixtures/llama_forks.py", import.meta.url).pathname;

const driverSays = z.object({
  parent: z.number(),
  child: z.number(),
  failed: z.literal(0),
  child_failed: z.literal(0),
  parent_tokens: z.array(z.number()),
  child_tokens: z.array(z.number()),
});
const runSays = z.object({
  run_dir: z.string(),
  warnings: z.array(z.string()),
  target: z.object({ prompt_tokens: z.number(), decode_tokens: z.number() }),
});

/** Of the context: cells, what a row of a tensor takes, and its tensors. */
const [CELLS, ROW_BYTES] = [512, 64];
const CACHES = ["cache_k_l0", "cache_k_l1", "cache_v_l0", "cache_v_l1"];
/** Rows of which a cell is known at least: those of the first batches of the child come before a graph of it was read. */
const PLACED = 20;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

test.skipIf(!build.ok)(
  "a process that forks once its model is loaded, and its child that decodes with it, have each their steps, tokens, weights and caches by name, and rows",
  async () => {
    if (!build.ok) return;
    const [library = ""] = build.objects;
    const said = join(folder, "said");
    const command = ["sh", "-c", 'exec "$@" > "$0"', said, "python3", DRIVER, library, folder];
    const args = ["run", "--json", "--ebpf", "engine", ...QUICK, "--output", folder];
    const ended = await runCli([...args, "--", ...command], { env: build.env });
    expect(ended.exitCode).toBe(0);
    const { run_dir, warnings, target } = runSays.parse(jsonOf(ended));
    const { parent, child, parent_tokens, child_tokens } = driverSays.parse(JSON.parse(readFileSync(said, "utf8")));
    expect([warnings, new Set([parent, child]).size]).toEqual([[], 2]);
    const [prompts, decoded] = [(n: number) => n > 1, (n: number) => n === 1].map((is) =>
      sum([...parent_tokens, ...child_tokens].filter(is)),
    );
    expect(target).toEqual({ prompt_tokens: prompts ?? 0, decode_tokens: decoded ?? 0 });

    const file = readGgufFile(join(folder, "forks.gguf"));
    if (!file.ok) throw new Error(file.reason);
    const inFile = file.directory.tensors.map(({ name, bytes }) => [name, bytes]).sort();
    using run = openRun(run_dir);
    const steps = run.table("step").toArray();
    const regions = run.table("region_map").toArray();
    const rows = run.table("kv_block_lifecycle").toArray();
    for (const [pid, tokens, evidence] of [
      [parent, parent_tokens, "engine_probe"],
      [child, child_tokens, "engine_graph"],
    ] as const) {
      const decodes = steps.filter((step) => step.pid === pid && step.kind === "decode");
      expect(decodes.map(({ n_tokens, result }) => [n_tokens, result])).toEqual(tokens.map((n) => [n, 0n]));
      const named = (type: string) =>
        regions.filter((region) => region.pid === pid && region.tensor !== null && region.region_type === type);
      const sizes = (type: string) => named(type).map(({ tensor, size_bytes }) => [tensor, Number(size_bytes)]);
      expect(sizes("weight").sort()).toEqual(inFile);
      expect(sizes("kv_cache").sort()).toEqual(CACHES.map((name) => [name, CELLS * ROW_BYTES]));
      expect([...named("weight"), ...named("kv_cache")].filter((region) => region.evidence !== evidence)).toEqual([]);
      for (const cache of named("kv_cache")) {
        const mine = rows.filter((row) => row.pid === pid && row.tensor === cache.tensor);
        // What the child clears is its own: the rows of its parent are there until the end.
        expect(mine.map(({ position, ended_by }) => [position, ended_by])).toEqual(
          Array.from({ length: sum(tokens) }, (_, position) => [position, "memory_gone"]),
        );
        const placed = mine.flatMap(({ position, address }) =>
          address === null ? [] : [[address, cache.addr + BigInt(ROW_BYTES * (position ?? 0))]],
        );
        expect(placed.length).toBeGreaterThan(PLACED);
        expect(placed.filter(([address, wanted]) => address !== wanted)).toEqual([]);
      }
    }
  },
);
