import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readGgufFile } from "../../../src/engine/gguf/file.ts";
import { tensorLives } from "../../../src/label/capture/tensor-lives.ts";
import { engineRegions } from "../../../src/label/regions/engine-regions.ts";
import { runEngine } from "../../fixtures/engine-run.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";

setDefaultTimeout(120_000);

const DRIVER = new URL("../../fixtures/llama_loads.py", import.meta.url).pathname;

interface Said {
  readonly failed: number;
  readonly locked: number;
  readonly mapped: readonly (readonly [begin: number, end: number])[];
}

for (const version of Object.values(BUILDS)) {
  const build = await fetchLlamaServer(version);
  if (!build.ok) process.stderr.write(`skipped: ways to load of llama.cpp: ${build.reason}\n`);

  test.skipIf(!build.ok).each([
    ["read", false, false],
    ["mapped", true, false],
    ["locked", false, true],
    ["mapped_locked", true, true],
  ] as const)(
    `weights of a model that is %s have the names and bytes of its file, xllamacpp ${version}`,
    async (way, isMapped, isLocked) => {
      if (!build.ok) return;
      const folder = mkdtempSync(join(tmpdir(), "mrm-loads-"));
      try {
        const model = join(folder, "model.gguf");
        const [library = ""] = build.objects;
        const run = await runEngine(["python3", DRIVER, library, model, way], {
          env: build.env,
          objects: build.objects,
        });
        const { failed, locked, mapped }: Said = JSON.parse(run.stdout);
        expect([failed, mapped.length > 0]).toEqual([0, isMapped]);
        const gguf = readGgufFile(model);
        if (!gguf.ok) throw new Error(gguf.reason);
        const file = gguf.directory.tensors.map(({ name, bytes }) => [name, bytes]);
        const total = gguf.directory.tensors.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
        // Where a process may lock less, llama.cpp goes on without.
        if (!isLocked) expect(locked).toBe(0);
        else if (locked > 0) expect(locked).toBeGreaterThanOrEqual(total);
        const weights = engineRegions(tensorLives(run.tensors, []).rows, 0n).filter(
          ({ region_type }) => region_type === "weight",
        );
        expect(weights.map(({ tensor, begin, end }) => [tensor, end - begin]).sort()).toEqual(file.sort());
        const inFile = weights.filter(({ begin, end }) => mapped.some(([from, to]) => begin >= from && end <= to));
        expect(inFile.length).toBe(isMapped ? weights.length : 0);
        const loads = run.steps
          .filter(({ kind }) => kind === "model_load")
          .map(({ detail }) => JSON.parse(detail ?? "{}"));
        expect(loads.filter(({ weight_bytes }) => weight_bytes > 0)).toMatchObject([
          { weight_tensors: file.length, weight_bytes: total },
        ]);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );
}
