import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readGgufFile } from "../../../src/engine/gguf/file.ts";
import { tensorLives } from "../../../src/label/capture/tensor-lives.ts";
import { stepRows } from "../../../src/label/timeline/step-row.ts";
import { runEngine } from "../../fixtures/engine-run.ts";
import { kvRows } from "../../fixtures/listed-tokens.ts";
import { fetchLlamaServer } from "../../fixtures/llama-server.ts";

setDefaultTimeout(120_000);
const build = await fetchLlamaServer();
if (!build.ok) process.stderr.write(`skipped: models of llama.cpp one after the other: ${build.reason}\n`);
const DRIVER = new URL("../../fixtures/llama_reload.py", import.meta.url).pathname;
const TOKENS = 100;

/** Names of the tensors of a file. */
function namesIn(path: string): string[] {
  const file = readGgufFile(path);
  if (!file.ok) throw new Error(file.reason);
  return file.directory.tensors.map(({ name }) => name).sort();
}

test.skipIf(!build.ok)(
  "two models that are loaded and freed by turns, at the same addresses, have each their names and rows, and end when they are freed",
  async () => {
    if (!build.ok) return;
    const folder = mkdtempSync(join(tmpdir(), "mrm-reload-"));
    try {
      const [library = ""] = build.objects;
      const run = await runEngine(["python3", DRIVER, library, folder], { env: build.env, objects: build.objects });
      expect(JSON.parse(run.stdout)).toEqual({ failed: 0 });
      expect([run.untold, run.ledger.filter(({ dropped }) => dropped > 0)]).toEqual([[], []]);
      const files = ["first", "second", "first", "second"].map((name) => namesIn(join(folder, `${name}.gguf`)));
      const [loads, frees, ends] = ["model_load", "model_free", "context_free"].map((kind) =>
        run.steps.filter((step) => step.kind === kind).map(({ timestamp_ns }) => timestamp_ns),
      );
      expect([loads?.length, frees?.length, ends?.length]).toEqual([4, 4, 4]);

      const { rows: lives } = tensorLives(run.tensors, []);
      const named = lives.filter(({ region_type }) => region_type === "weight");
      for (const [i, names] of files.entries()) {
        const [from, until] = [loads?.[i] ?? 0n, frees?.[i] ?? 0n];
        const mine = named.filter(({ birth_ns }) => birth_ns >= from && birth_ns < until);
        expect(mine.map(({ name }) => name ?? "").sort()).toEqual(names);
        const late = mine.filter(({ death_ns }) => death_ns === null || death_ns > (loads?.[i + 1] ?? death_ns));
        expect(late.map(({ name }) => name)).toEqual([]);
      }
      const meet = (one: (typeof lives)[number], other: (typeof lives)[number]): boolean =>
        one.addr < other.addr + other.size_bytes && other.addr < one.addr + one.size_bytes;
      const pairs = lives.flatMap((one, i) =>
        lives.slice(i + 1).flatMap((other) => (meet(one, other) ? [[one, other]] : [])),
      );
      expect(pairs.length).toBeGreaterThan(0);
      const together = pairs.filter(
        ([one, other]) =>
          (one?.death_ns ?? 0n) > (other?.birth_ns ?? 0n) && (other?.death_ns ?? 0n) > (one?.birth_ns ?? 0n),
      );
      expect(together).toEqual([]);

      const origin = run.steps[0]?.timestamp_ns ?? 0n;
      const cache = kvRows(stepRows(run.steps, origin), lives, origin);
      expect(cache.untold).toBeNull();
      const perEnd = Map.groupBy(cache.tokens, ({ evict_ns, end }) => `${end?.by} ${evict_ns}`);
      // The first has keys and values in both of its layers, the second one row for both.
      expect([...perEnd].map(([end, rows]) => [end, rows.length])).toEqual(
        [4, 2, 4, 2].map((tensors, i) => [`cleared ${Number((ends?.[i] ?? 0n) - origin)}`, tensors * TOKENS]),
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
