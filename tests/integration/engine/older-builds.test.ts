import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tensorLives } from "../../../src/label/capture/tensor-lives.ts";
import { FLAT_CACHE } from "../../../src/label/kv/kv-lifecycle.ts";
import { SEVERAL_CACHES } from "../../../src/label/kv/kv-tokens.ts";
import { stepRows } from "../../../src/label/timeline/step-row.ts";
import type { RowOf } from "../../../src/schema/row.ts";
import { hasSettings, runEngine } from "../../fixtures/engine-run.ts";
import { kvRows } from "../../fixtures/listed-tokens.ts";
import { fetchLlamaServer, OLDER_BUILDS } from "../../fixtures/llama-server.ts";

setDefaultTimeout(120_000);

const DRIVER = new URL("../../fixtures/llama_older.py", import.meta.url).pathname;
const builds = new Map<string, Awaited<ReturnType<typeof fetchLlamaServer>>>();
for (const version of Object.values(OLDER_BUILDS)) {
  const build = await fetchLlamaServer(version);
  builds.set(version, build);
  if (!build.ok) process.stderr.write(`skipped: llama.cpp of xllamacpp ${version}: ${build.reason}\n`);
}
const isThere = [...builds.values()].every(({ ok }) => ok);

async function drive(version: string, prefix: string, kind = "plain") {
  const build = builds.get(version);
  if (!build?.ok) throw new Error(build?.reason);
  const folder = mkdtempSync(join(tmpdir(), "mrm-older-"));
  try {
    const [library = ""] = build.objects;
    const run = await runEngine(["python3", DRIVER, library, folder, kind, prefix], { ...build, until: hasSettings });
    const origin = run.steps[0]?.timestamp_ns ?? 0n;
    const steps = stepRows(run.steps, origin);
    const caches = run.steps.flatMap(({ detail }) => JSON.parse(detail ?? "{}").settings?.kv_caches ?? []);
    const changes = run.steps.map((step) => step.kind).filter((one) => one.startsWith("kv_"));
    const rows = kvRows(steps, tensorLives(run.tensors, []).rows, origin);
    const tied = run.tensors.filter(({ kind }) => kind === "tied").length;
    return { said: JSON.parse(run.stdout), changes, caches: Math.max(...caches), rows, tied };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const CHANGES: readonly RowOf<"step">["kind"][] = [
  "kv_clear",
  "kv_trim",
  "kv_shift",
  "kv_shift",
  "kv_copy",
  "kv_divide",
  "kv_shift",
  "kv_shift",
  "kv_keep",
];
const SAID = { failed: 0, held: [41, 19, 19] };

test.skipIf(!isThere).each([
  ["llama_kv_self", OLDER_BUILDS.kv_self],
  ["llama_kv_self, which calls llama_memory", OLDER_BUILDS.memory],
])("rows that %s changes live as long as the engine keeps them", async (name, version) => {
  const { said, changes, rows, tied } = await drive(version, name.split(",")[0] ?? "");
  expect(said).toMatchObject(SAID);
  // An older build says 0 of a sequence without rows.
  expect([-1, 0]).toContain(said.kept);
  expect([changes, rows.untold]).toEqual([[...CHANGES], null]);
  const lives = (sequence: number) =>
    [rows.tokens.filter((one) => one.sequence === sequence)].map((all) => [
      all.length,
      all.filter(({ evict_ns }) => evict_ns === null).length,
      all.filter(({ shared_with }) => shared_with.length > 0).length,
    ]);
  // 40 were cleared and 10 were cut; what the second sequence had is the third's too, until it is kept alone.
  expect([lives(0), lives(1), lives(2)]).toEqual([[[93, 43, 0]], [[20, 0, 20]], [[4, 0, 0]]]);
  // Its model has an output matrix, and this build another number for the lookup of rows.
  expect(tied).toBe(0);
  // Rows may have been moved to other cells.
  expect(rows.tokens.every(({ cell }) => cell === null)).toBe(true);
  expect(rows.tensors.map(({ cells, row_bytes }) => [cells, row_bytes])).toEqual(Array(4).fill([512, 64]));
});

test.skipIf(!isThere).each([
  ["one cache for all layers", OLDER_BUILDS.both],
  ["a cache for each kind of layer", OLDER_BUILDS.kv_self],
])("layers that look back over a window are told by their mask in %s, and no row is", async (_, version) => {
  const { said, caches, rows } = await drive(version, "llama_kv_self", "sliding");
  expect([said.failed, caches]).toEqual([0, 2]);
  expect([[...rows.tokens], rows.untold]).toEqual([[], SEVERAL_CACHES]);
});

test.skipIf(!isThere).each([
  ["llama_kv_cache", OLDER_BUILDS.kv_cache],
  ["llama_kv_cache, which calls llama_kv_self", OLDER_BUILDS.both],
])("what %s changes is told, and no row of its caches of one dimension", async (name, version) => {
  const { said, changes, rows } = await drive(version, name.split(",")[0] ?? "");
  expect(said.failed).toBe(0);
  expect(changes).toEqual([...CHANGES]);
  expect([[...rows.tokens], rows.untold]).toEqual([[], FLAT_CACHE]);
});
