import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modelFacts } from "../../../src/engine/gguf/model-facts.ts";
import { tensorLives } from "../../../src/label/capture/tensor-lives.ts";
import { isReadAt } from "../../../src/label/kv/kv-token.ts";
import { SEVERAL_CACHES } from "../../../src/label/kv/kv-tokens.ts";
import { runsOf } from "../../../src/label/kv/step-runs.ts";
import { isBatch, type StepRow, stepRows } from "../../../src/label/timeline/step-row.ts";
import { hasSettings, runEngine } from "../../fixtures/engine-run.ts";
import { kvRows, type ListedRows } from "../../fixtures/listed-tokens.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";

setDefaultTimeout(120_000);

const build = await fetchLlamaServer(BUILDS.decode);
if (!build.ok) process.stderr.write(`skipped: windows of llama.cpp: ${build.reason}\n`);
const DRIVER = new URL("../../fixtures/llama_windows.py", import.meta.url).pathname;
const WINDOW = 32;

interface Said {
  readonly failed: number;
  readonly attended: readonly (readonly [batch: number, layer: number, keys: readonly number[]])[];
  /** First and last position of each sequence that the engine has in layers with a window. */
  readonly held: readonly (readonly [first: number, last: number])[];
  readonly ends: readonly number[];
}

async function inFolder<T>(use: (command: (how: string) => string[], folder: string) => Promise<T>): Promise<T> {
  if (!build.ok) throw new Error(build.reason);
  const [library = ""] = build.objects;
  const folder = mkdtempSync(join(tmpdir(), "mrm-windows-"));
  try {
    return await use((how) => ["python3", DRIVER, library, folder, how], folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Driven {
  readonly said: Said;
  readonly rows: ListedRows;
  readonly batches: readonly StepRow[];
  readonly unnamed: ListedRows;
}

const drive = (how: "shared" | "split"): Promise<Driven> =>
  inFolder(async (command, folder) => {
    if (!build.ok) throw new Error(build.reason);
    const run = await runEngine(command(how), { env: build.env, objects: build.objects, until: hasSettings });
    const origin = run.steps[0]?.timestamp_ns ?? 0n;
    const steps = stepRows(run.steps, origin);
    const lives = tensorLives(run.tensors, []).rows;
    const rows = kvRows(steps, lives, origin, Number.POSITIVE_INFINITY, modelFacts(join(folder, "windows.gguf")));
    const said: Said = JSON.parse(run.stdout);
    expect([said.failed, rows.untold]).toEqual([0, null]);
    return { said, rows, batches: steps.filter(isBatch), unnamed: kvRows(steps, lives, origin) };
  });

const tokensOf = ({ rows }: Driven, in_window: boolean) => rows.tokens.filter((token) => token.in_window === in_window);

test.skipIf(!build.ok)(
  "each batch needs of each layer the rows that its tokens give weight to, in every sequence",
  async () => {
    const attends = await inFolder(async (command) => {
      if (!build.ok) throw new Error(build.reason);
      const child = Bun.spawn(command("attends"), {
        env: { ...process.env, ...build.env },
        stdin: "ignore",
        stderr: "ignore",
      });
      return JSON.parse(await new Response(child.stdout).text()) as Said;
    });
    const driven = await drive("shared");
    expect(attends.failed).toBe(0);
    expect([attends.ends, attends.held]).toEqual([driven.said.ends, driven.said.held]);
    let compared = 0;
    for (const [batch, layer, keys] of attends.attended) {
      const step = driven.batches[batch] as StepRow;
      let token = 0;
      for (const { sequences, tokens } of runsOf(step) ?? []) {
        const needed = tokensOf(driven, layer === 0).filter(
          (row) => row.sequence === sequences[0] && isReadAt(row, step.begin_ns),
        );
        // The first of them gives weight to itself as well.
        expect([batch, layer, needed.length]).toEqual([batch, layer, (keys[token] ?? 0) - 1]);
        token += tokens;
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(300);
  },
);

test.skipIf(!build.ok).each(["shared", "split"] as const)(
  "every token has a row in every layer, which lives as long as it is needed, where sequences have %s cells",
  async (how) => {
    const driven = await drive(how);
    const { rows, said, batches } = driven;
    const written = batches.reduce((sum, { n_tokens }) => sum + (n_tokens ?? 0), 0);
    expect([tokensOf(driven, false).length, tokensOf(driven, true).length]).toEqual([written, written]);
    const layersOf = (in_window: boolean) =>
      rows.tokens.map((token, t) =>
        token.in_window === in_window ? (rows.rooms[rows.roomOf[t] ?? -1] ?? []).map((k) => rows.tensors[k]?.name) : [],
      );
    const names = (in_window: boolean) => [...new Set(layersOf(in_window).flat())].sort();
    expect([names(false), names(true)]).toEqual([
      ["cache_k_l1", "cache_v_l1"],
      ["cache_k_l0", "cache_v_l0"],
    ]);
    for (const [sequence, [first, last]] of said.held.entries()) {
      const alive = (in_window: boolean) =>
        tokensOf(driven, in_window)
          .filter((row) => row.evict_ns === null && row.sequence === sequence)
          .map(({ position }) => position ?? -1)
          .sort((one, other) => one - other);
      const end = said.ends[sequence] ?? 0;
      expect(last).toBe(end - 1);
      expect(alive(false)).toEqual(Array.from({ length: end }, (_, i) => i));
      // Those that the last batch needed, and what it wrote; the engine keeps them, and some that nothing needs any more.
      const kept = alive(true);
      expect(kept).toEqual(Array.from({ length: Math.min(end, WINDOW) }, (_, i) => end - Math.min(end, WINDOW) + i));
      expect(first).toBeLessThanOrEqual(kept[0] ?? -1);
    }
    // It has written over the first rows of a sequence that is longer than the cache of a window.
    expect(said.held[0]?.[0]).toBeGreaterThan(0);
    // The cells that are copied are those of the layer that writes first; nothing is written over that a step needs.
    expect(tokensOf(driven, true).every(({ cell, writes }) => cell !== null && writes === "once")).toBe(true);
    expect(tokensOf(driven, false).every(({ cell, writes }) => cell === null && writes === "once")).toBe(true);
  },
);

test.skipIf(!build.ok)("no row is told of any layer where the model's file was not read", async () => {
  const { unnamed } = await drive("shared");
  expect([[...unnamed.tokens], unnamed.untold]).toEqual([[], SEVERAL_CACHES]);
});
