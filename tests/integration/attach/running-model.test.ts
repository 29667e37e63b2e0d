import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { runningModel } from "../../../src/pipelines/running-model.ts";
import { runningProcess } from "../../../src/target/running-process.ts";
import { childrenOfTests } from "../../fixtures/children-of-tests.ts";

setDefaultTimeout(60_000);

const folder = mkdtempSync(join(tmpdir(), "mrm-running-model-"));
const first = join(folder, "first.gguf");
const second = join(folder, "second.gguf");
const nameless = join(folder, "nameless.gguf");
const path = join(folder, "model.gguf");
const other = join(folder, "other");

beforeAll(async () => {
  await writeModel({ params: "1m", type: "q8_0", seed: 1 }, first);
  await writeModel({ params: "1m", type: "f16", seed: 2 }, second);
  const bytes = readFileSync(first);
  bytes.write("general.none", bytes.indexOf("general.name"));
  writeFileSync(nameless, bytes);
  writeFileSync(other, bytes.subarray(0, 8192));
});
afterAll(() => rmSync(folder, { recursive: true }));

const children = childrenOfTests();

/** A process whose command line names `model`; it maps that where it is told to, and then `more` other pieces of files. */
async function running({ model, maps = true, more = 0 }: { model: string; maps?: boolean; more?: number }) {
  const code = `
    const kept = ${maps} ? [Bun.mmap(process.argv.at(-1))] : [];
    for (let i = 0; i < ${more}; i++) kept.push(Bun.mmap(${JSON.stringify(other)}, { offset: 0, size: 4096 }));
    setInterval(() => kept.length, 1e6);
    console.log("up");`;
  const child = Bun.spawn([process.execPath, "-e", code, model], { stdout: "pipe", stderr: "inherit" });
  children.push(child);
  await child.stdout.getReader().read();
  return runningProcess(String(child.pid));
}

/** Name, and the type that most of its bytes have. */
function named(target: Awaited<ReturnType<typeof running>>) {
  const { name, model } = runningModel(target);
  return [name, model?.quantisation ?? null];
}

describe("the model of a process that runs", () => {
  test("is the file that it maps, though another one has its name by now", async () => {
    copyFileSync(first, path);
    const target = await running({ model: path });
    const copy = join(folder, "copy");
    copyFileSync(second, copy);
    renameSync(copy, path);
    expect(named(target)).toEqual(["random 1m q8_0 seed 1", "q8_0"]);
  });

  test("is known when its file was deleted", async () => {
    copyFileSync(first, path);
    const target = await running({ model: path });
    rmSync(path);
    expect(named(target)).toEqual(["random 1m q8_0 seed 1", "q8_0"]);
  });

  test("is known by the first bytes of its file, whatever that is called", async () => {
    const blob = join(folder, "sha256-abc");
    copyFileSync(first, blob);
    truncateSync(blob, 2 ** 23);
    expect(named(await running({ model: blob }))).toEqual(["random 1m q8_0 seed 1", "q8_0"]);
  });

  test("without a name of its own is called like its file, deleted or not", async () => {
    copyFileSync(nameless, path);
    const target = await running({ model: path });
    expect(named(target)).toEqual(["model", "q8_0"]);
    rmSync(path);
    expect(named(target)).toEqual(["model", "q8_0"]);
  });

  test("is not taken from the command line where the file that is mapped is gone and is none that can be read", async () => {
    writeFileSync(path, readFileSync(first).subarray(0, 8192));
    const target = await running({ model: path });
    rmSync(path);
    copyFileSync(second, path);
    expect(named(target)).toEqual([basename(process.execPath), null]);
  });

  test("is that of the command line where none is mapped", async () => {
    expect(named(await running({ model: second, maps: false }))).toEqual(["random 1m f16 seed 2", "f16"]);
  });

  test("is found behind more mappings than 64 KiB of text tell", async () => {
    const target = await running({ model: first, more: 1500 });
    const text = readFileSync(`/proc/${target.pid}/maps`, "latin1");
    expect(text.indexOf("first.gguf")).toBeGreaterThan(2 ** 16);
    expect(named({ ...target, command: ["bun"] })).toEqual(["random 1m q8_0 seed 1", "q8_0"]);
  });
});
