import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { demoCacheDir } from "../../../src/demo/cache.ts";
import { demoCommand } from "../../../src/demo/demo.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { llamaCpp } from "../../../src/engine/llama-cpp/llama-cpp.ts";
import { captureTable } from "../../../src/engine/probing/capture-table.ts";
import { objectProbes } from "../../../src/engine/probing/object-probes.ts";
import { openBpfObject } from "../../../src/kernel/open-bpf-object.ts";
import { runEngine } from "../../fixtures/engine-run.ts";
import { rowsAt } from "../../fixtures/ledger.ts";

setDefaultTimeout(120_000);

let models = "";
let model = "";
beforeAll(async () => {
  models = mkdtempSync(join(tmpdir(), "mrm-objects-"));
  model = join(models, "model.gguf");
  await writeModel({ params: "1m", type: "q8_0", seed: 1 }, model);
});
afterAll(() => rmSync(models, { recursive: true }));

test("a kernel without links of many probes gets the same probes one by one", async () => {
  const { objects } = await demoCommand({ cacheDir: demoCacheDir(), model: model, tokens: 2 });
  const library = objects.find((path) => path.includes("libggml-cpu-")) ?? "";
  using object = await openBpfObject("engine");
  using probes = objectProbes({
    object,
    multi: false,
    engines: [llamaCpp],
    captures: captureTable(object.map("engine_captures")),
  });
  expect(probes.attach(library)).toMatchObject([
    { attached: 3, refused: {}, symbols: ["ggml_compute_forward_get_rows", "ggml_graph_compute"] },
  ]);
});

test.each([
  ["one link", true],
  ["many links", false],
])("probes go into the file that was read, whatever its name leads to by then: %s", async (_, multi) => {
  const { objects } = await demoCommand({ cacheDir: demoCacheDir(), model: model, tokens: 2 });
  const folder = mkdtempSync(join(tmpdir(), "mrm-moved-"));
  try {
    const path = join(folder, "library.so");
    copyFileSync(objects.find((name) => name.includes("libggml-cpu-")) ?? "", path);
    const moving: typeof llamaCpp = {
      ...llamaCpp,
      probesOf(object) {
        rmSync(path);
        symlinkSync("/bin/true", path);
        return llamaCpp.probesOf(object);
      },
    };
    using object = await openBpfObject("engine", multi ? { uprobeMulti: ["engine_entry", "engine_return"] } : {});
    const captures = captureTable(object.map("engine_captures"));
    using probes = objectProbes({ object, multi, engines: [moving], captures });
    // In the file that the name leads to now there is no such place.
    expect(probes.attach(path)).toMatchObject([
      { attached: 3, refused: {}, symbols: ["ggml_compute_forward_get_rows", "ggml_graph_compute"] },
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a file without an engine is looked at again once another has its number", async () => {
  const { objects } = await demoCommand({ cacheDir: demoCacheDir(), model: model, tokens: 2 });
  const folder = mkdtempSync(join(tmpdir(), "mrm-again-"));
  try {
    const path = join(folder, "library.so");
    writeFileSync(path, "no library");
    using object = await openBpfObject("engine");
    const captures = captureTable(object.map("engine_captures"));
    using probes = objectProbes({ object, multi: false, engines: [llamaCpp], captures });
    expect(probes.attach(path)).toEqual([]);
    copyFileSync(objects.find((name) => name.includes("libggml-cpu-")) ?? "", path);
    expect(probes.attach(path)).toMatchObject([{ attached: 3, path }]);
    expect(probes.counts.asked).toBe(3);
    expect(probes.attach("/elsewhere", path)).toMatchObject([{ attached: 3, path }]);
    expect(probes.counts.asked).toBe(3);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an object is attached once, and what is no engine is left alone", async () => {
  const { command, env, objects } = await demoCommand({ cacheDir: demoCacheDir(), model: model, tokens: 2 });
  const library = objects.filter((path) => path.includes("libggml-base"));
  const run = await runEngine(command, {
    env,
    objects: [...library, ...library, process.execPath, "/nowhere", "/tmp"],
  });
  expect(run.attached.map(({ attached }) => attached)).toEqual([true, false, false, false, false]);
  expect(run.steps.filter(({ kind }) => kind === "probes").length).toBe(1);
  // A path without a file is made code or a deleted library, a folder is neither.
  expect(rowsAt(run.ledger, { stream: "engine", stage: "attach" })).toMatchObject([
    { filtered: 1, dropped_by: { object_unreadable: 1 } },
  ]);
});
