import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { modelFacts } from "../../../src/engine/gguf/model-facts.ts";
import { createModelSight } from "../../../src/record/model-sight.ts";
import { childrenOfTests } from "../../fixtures/children-of-tests.ts";
import { batchWith } from "../../fixtures/row-with.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-model-sight-"));
const first = join(folder, "first.gguf");
const second = join(folder, "second.gguf");
beforeAll(async () => {
  await writeModel({ params: "1m", type: "q8_0", seed: 1 }, first);
  await writeModel({ params: "1m", type: "f16", seed: 2 }, second);
});
afterAll(() => rmSync(folder, { recursive: true }));

const children = childrenOfTests();

/** The number of a process in the folder that maps these files. */
async function mapping(...paths: string[]): Promise<number> {
  const code =
    'const kept = process.argv.slice(1).map((path) => Bun.mmap(path)); setInterval(() => kept.length, 1e6); console.log("up");';
  const child = Bun.spawn([process.execPath, "-e", code, ...paths], { cwd: folder, stdout: "pipe", stderr: "inherit" });
  children.push(child);
  await child.stdout.getReader().read();
  return child.pid;
}

type Kind = "engine" | "model_load" | "decode" | "graph";
const step = (pid: number, kind: Kind, detail: object | null = null) =>
  batchWith("step", [{ pid, kind, detail: detail === null ? null : JSON.stringify(detail) }]);

/** Name of the model that is known after these batches. */
function seen(...batches: readonly ReturnType<typeof step>[]): string | null {
  const sight = createModelSight(null);
  for (const batch of batches) sight.take(batch);
  return sight.model?.name ?? null;
}

describe("a model of which nothing was known before", () => {
  test("is the file that a process maps when it has loaded one", async () => {
    const pid = await mapping(first);
    expect(seen(step(pid, "engine"))).toBeNull();
    expect(seen(step(pid, "model_load", { path: "elsewhere.gguf" }))).toBe("random 1m q8_0 seed 1");
    expect(seen(step(pid, "model_load"))).toBe("random 1m q8_0 seed 1");
  });

  test("is that of several which was loaded", async () => {
    const pid = await mapping(first, second);
    expect(seen(step(pid, "model_load", { path: first }))).toBe("random 1m q8_0 seed 1");
    expect(seen(step(pid, "model_load", { path: second }))).toBe("random 1m f16 seed 2");
  });

  test("is what a process maps that computes, whose load nobody saw", async () => {
    const pid = await mapping(second);
    expect(seen(step(pid, "graph"))).toBe("random 1m f16 seed 2");
    expect(seen(step(pid, "decode"))).toBe("random 1m f16 seed 2");
  });

  test("is found by the path of its load, as the process means it, where nothing is mapped", async () => {
    const pid = await mapping();
    expect(seen(step(pid, "decode"), step(pid, "model_load", { path: "second.gguf" }))).toBe("random 1m f16 seed 2");
  });

  test("is not that of a load that read words alone", async () => {
    const pid = await mapping();
    const words = step(pid, "model_load", { path: first, simulated: true });
    expect(seen(words)).toBeNull();
    expect(seen(words, step(pid, "model_load", { path: second }))).toBe("random 1m f16 seed 2");
  });

  test("stays unknown where its process has ended, or its file is none", async () => {
    expect(seen(step(2 ** 22 + 1, "model_load", { path: first }))).toBeNull();
    const pid = await mapping();
    expect(seen(step(pid, "model_load", { path: "/dev/zero" }), step(pid, "model_load", { path: 7 }))).toBeNull();
  });
});

test("a model that is known before is not looked for", async () => {
  const given = modelFacts(first);
  const sight = createModelSight(given);
  sight.take(step(await mapping(second), "model_load", { path: second }));
  expect(sight.model).toBe(given);
});
