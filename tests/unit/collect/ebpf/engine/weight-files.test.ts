import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { weightFiles } from "../../../../../src/collect/ebpf/engine/weight-files.ts";
import { createProcessMaps } from "../../../../../src/regions/mapping-events.ts";
import type { MappingEvent } from "../../../../../src/regions/mapping-row.ts";
import { ANON, mappingRow, mmap, mprotect, mremap, munmap, page } from "../../../../fixtures/mapping-rows.ts";
import { safetensorsBytes, vectors } from "../../../../fixtures/safetensors.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-weights-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What engines of these names told. */
const seen = (decoding: string[] = [], naming: string[] = [], caching: string[] = []) => ({
  ...{ decoding: new Set(decoding), naming: new Set(naming), caching: new Set(caching) },
});
const HEADER_BYTES = 4096 - 8;
/** A file of 3 pages and a bit: its header fills the first, two tensors what is behind. */
function modelFile(name: string, header = JSON.stringify(vectors({ "layers.0.w": 4096, "layers.1.w": 8192 }))) {
  const path = join(folder, `${name}.safetensors`);
  writeFileSync(path, safetensorsBytes(header.padEnd(HEADER_BYTES), 12_288));
  const { ino, dev } = statSync(path);
  const device = ((dev >> 8) << 20) | (dev & 0xff);
  return { path, inode: BigInt(ino), dev: device };
}
type File = ReturnType<typeof modelFile>;

/** A file that is mapped before our eyes: its name, and the call. */
function mapped(time: number, from: number, pages: number, file: File, offset = 0): MappingEvent[] {
  const fields = { flags: 2, file_offset_bytes: page(offset), ...file };
  const range = { addr: page(from), size_bytes: page(pages), prot: 3, ...fields };
  return [mappingRow("file", time, range), mmap(time, from, pages, 3, { ...fields, path: null })];
}

/** The follower over real maps, and the process whose root is ours. */
function followed() {
  const maps = createProcessMaps();
  const files = weightFiles(maps);
  const take = (rows: readonly MappingEvent[]) => {
    for (const row of rows) maps.apply(row);
    files.follow(rows);
    return files.takeRows();
  };
  return { files, take };
}

const ofLive = (files: ReturnType<typeof weightFiles>) =>
  files.liveTensors().map(({ name, addr, size_bytes }) => [name, addr, size_bytes]);
const ofRows = ({ tensors }: ReturnType<ReturnType<typeof weightFiles>["takeRows"]>) =>
  tensors.map(({ kind, name, addr, timestamp_ns }) => [kind, name, addr, Number(timestamp_ns)]);

describe("a file of weights", () => {
  test("gives each of its tensors where it is mapped, once, whatever is done around it", () => {
    const { files, take } = followed();
    const first = take(mapped(10, 100, 4, modelFile("whole")));
    expect(ofRows(first)).toEqual([
      ["tensor", "layers.0.w", page(101), 10],
      ["tensor", "layers.1.w", page(102), 10],
    ]);
    expect(first.tensors[0]).toMatchObject({
      engine: "safetensors",
      evidence: "file_header",
      region_type: "weight",
      layer: 0,
    });
    expect(first.steps.map(({ engine, kind }) => [engine, kind])).toEqual([["safetensors", "engine"]]);
    expect(ofRows(take([mmap(20, 200, 5), mprotect(21, 101, 1, 1)]))).toEqual([]);
    expect(ofLive(files)).toEqual([
      ["layers.0.w", page(101), 4096],
      ["layers.1.w", page(102), 8192],
    ]);
  });

  test("gives the parts of its tensors that are mapped", () => {
    const { files, take } = followed();
    take(mapped(10, 100, 1, modelFile("part"), 2));
    expect(ofLive(files)).toEqual([["layers.1.w", page(100), 4096]]);
  });

  test("has its tensors no more where it is unmapped, and elsewhere where it is moved", () => {
    const { files, take } = followed();
    take(mapped(10, 100, 4, modelFile("moved")));
    expect(ofRows(take([mremap(20, 100, 4, 300, 4)]))).toEqual([
      ["free", null, page(100), 20],
      ["tensor", "layers.0.w", page(301), 20],
      ["tensor", "layers.1.w", page(302), 20],
    ]);
    expect(ofRows(take([munmap(30, 300, 4)]))).toEqual([["free", null, page(300), 30]]);
    expect(ofLive(files)).toEqual([]);
  });

  test("has the rest of its tensors where a part of it is unmapped", () => {
    const { files, take } = followed();
    take(mapped(10, 100, 4, modelFile("rest")));
    expect(ofRows(take([munmap(20, 102, 2)]))).toEqual([
      ["free", null, page(100), 20],
      ["tensor", "layers.0.w", page(101), 20],
    ]);
    expect(ofLive(files)).toEqual([["layers.0.w", page(101), 4096]]);
  });

  test("that takes the place of another ends that one as it begins", () => {
    const { files, take } = followed();
    take(mapped(10, 100, 4, modelFile("first")));
    const rows = ofRows(take([munmap(20, 100, 4), ...mapped(25, 100, 4, modelFile("second"))]));
    expect(rows.map(([kind, , , time]) => [kind, time])).toEqual([
      ["free", 25],
      ["tensor", 25],
      ["tensor", 25],
    ]);
    expect(ofLive(files)).toHaveLength(2);
  });

  test("is its forked child's too, until that runs another program", () => {
    const { files, take } = followed();
    take(mapped(10, 100, 4, modelFile("forked")));
    take([mappingRow("fork", 20, { child_pid: 101 })]);
    expect(files.liveTensors().map(({ pid }) => pid)).toEqual([100, 100, 101, 101]);
    take([mappingRow("exec", 30, { pid: 101 })]);
    expect(files.liveTensors().map(({ pid }) => pid)).toEqual([100, 100]);
  });

  test("is said to have no names where its header is not believed, or another file has its number", () => {
    const { files, take } = followed();
    const bad = modelFile("bad", '{"a":1}');
    expect(ofRows(take(mapped(10, 100, 4, bad)))).toEqual([]);
    take(mapped(20, 200, 4, { ...modelFile("gone"), inode: 1n }));
    expect(files.warnings(20n, seen())).toEqual([
      `no tensor of ${bad.path} has a name, its bytes are taken for weights: { wanted`,
      `no tensor of ${join(folder, "gone.safetensors")} has a name, its bytes are taken for weights: no way leads to the file any more`,
    ]);
  });

  test("that was mapped and unmapped between two looks was copied", () => {
    const { files, take } = followed();
    take([...mapped(10, 100, 4, modelFile("brief")), munmap(20, 100, 4)]);
    for (let poll = 0; poll < 3; poll++) take([]);
    expect(files.warnings(1000n, seen()).join()).toContain(
      "its tensors were copied, and which of them lies where is not identifiable",
    );
    // Whoever has named weights since has them from the program.
    expect(files.warnings(1000n, seen(["PyTorch"], ["PyTorch"])).join()).toContain(
      "its tensors were copied, and those that have names have them from its program",
    );
  });
});

test("PyTorch is told by its library, with what is not known of it", () => {
  const { files, take } = followed();
  const library = { path: "/lib/libtorch_cpu.so", inode: 5n, dev: 1 };
  const { steps } = take([...mapped(10, 500, 9, library), mmap(11, 600, 1, 3, { flags: ANON })]);
  expect(steps.map(({ engine, detail }) => [engine, JSON.parse(detail ?? "")])).toEqual([
    ["PyTorch", { path: library.path, tells_steps: false }],
  ]);
  expect(files.warnings(20n, seen())).toEqual([
    "PyTorch: its KV cache and activations are not identifiable, as torch's allocator alone knows where they are and costs too much to probe, and no forward pass was seen that tells steps and tokens; it maps no file that names its tensors, so its weights are not identifiable either",
  ]);
  expect(files.warnings(25n, seen(["PyTorch"], ["PyTorch"]))).toEqual([
    "PyTorch: its KV cache and activations are not identifiable, as torch's allocator alone knows where they are and costs too much to probe",
  ]);
  take(mapped(30, 100, 4, modelFile("torch")));
  expect(files.warnings(40n, seen(["PyTorch"]))).toEqual([
    "PyTorch: its KV cache and activations are not identifiable, as torch's allocator alone knows where they are and costs too much to probe",
  ]);
  expect(files.warnings(40n, seen(["PyTorch"], [], ["PyTorch"]))).toEqual([
    "PyTorch: its activations, and KV caches of other kinds, are not identifiable, as torch's allocator alone knows where they are and costs too much to probe",
  ]);
});

test("vLLM is told by its library and not as PyTorch, which it maps too, with what is not known of it", () => {
  const { files, take } = followed();
  const torch = { path: "/venv/torch/lib/libtorch_cpu.so", inode: 5n, dev: 1 };
  const library = { path: "/venv/vllm/_C_AVX2.abi3.so", inode: 6n, dev: 1 };
  const { steps } = take([...mapped(10, 500, 9, torch), ...mapped(11, 700, 9, library)]);
  expect(steps.map(({ engine }) => engine)).toEqual(["vLLM"]);
  // Of its processes, those that do not infer may map torch alone.
  take(mapped(12, 900, 9, torch).map((row) => ({ ...row, pid: 77 })));
  expect(files.warnings(20n, seen(["vLLM"], ["vLLM"]))).toEqual([
    "vLLM: its activations are not identifiable without an agent",
  ]);
  expect(files.warnings(20n, seen(["vLLM"]))).toEqual([
    "vLLM: its activations are not identifiable without an agent, nor are its weights: it copies them into memory of its own and packs them anew, and the objects of its program that name them were not found",
  ]);
  expect(files.warnings(20n, seen())).toEqual([
    "vLLM: its activations are not identifiable without an agent, and neither its weights nor its KV cache are known before a step was seen",
  ]);
});
