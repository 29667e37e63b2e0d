import { expect, test } from "bun:test";
import { classifyMapping, engineVerdict, type MappingFacts } from "../../../../src/label/regions/evidence.ts";
import { UNTOLD_MAPPING } from "../../../fixtures/mapping-facts.ts";

const nothing: MappingFacts = {
  mapping_kind: "file",
  path: "/m/model.safetensors",
  size_bytes: 64 * 2 ** 20,
  ...UNTOLD_MAPPING,
};

test("what no tensor covers of a file that names its tensors is no weight", () => {
  expect(classifyMapping({ ...nothing, is_named: true })).toEqual({
    region_type: "runtime",
    evidence: "file_header",
    confidence: 0.95,
  });
  expect(classifyMapping(nothing)).toMatchObject({ region_type: "weight", evidence: "file" });
});

test("a file that is a GGUF by its first bytes is weight as one that is called so, and no other file is", () => {
  const blob = { ...nothing, path: "/blobs/sha256-abc", has_engine: true };
  expect(classifyMapping({ ...blob, is_gguf: true })).toMatchObject({ region_type: "weight", evidence: "file" });
  expect(classifyMapping({ ...blob, is_gguf: true, has_tensors: true })).toMatchObject({ region_type: "runtime" });
  expect(classifyMapping(blob)).toMatchObject({ region_type: "runtime", evidence: "mapping" });
});

test("another mapping of the file is the loader's, and its pages do not count twice", () => {
  expect(classifyMapping({ ...nothing, is_named_elsewhere: true })).toMatchObject({
    region_type: "runtime",
    evidence: "file",
  });
});

test("other memory of a process whose file names tensors stays unknown, however large", () => {
  expect(classifyMapping({ ...nothing, mapping_kind: "anon", path: null })).toMatchObject({ region_type: "unknown" });
});

test("data of the interpreter and of the libraries of C is runtime where an engine tells a part of its memory, that of other libraries is not", () => {
  const partly = { ...nothing, has_labels: true };
  for (const path of [
    "/usr/lib/libpython3.11.so.1.0",
    "/usr/bin/python3.12",
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/x/libgomp.so.1.0.0 (deleted)",
    "/x/torch.libs/libgomp-a34b3233.so.1",
  ]) {
    expect(classifyMapping({ ...partly, path })).toMatchObject({ region_type: "runtime", evidence: "mapping" });
    expect(classifyMapping({ ...nothing, path })).toMatchObject({ region_type: "unknown" });
    // What the program mapped as something else is judged as that.
    expect(classifyMapping({ ...partly, path, mapping_kind: "anon" })).toMatchObject({ region_type: "unknown" });
  }
  for (const path of ["/usr/lib/libtorch_cpu.so", "/m/libcompiled.so", "/m/python3-model.bin", "/m/libcudart.so.12"]) {
    expect(classifyMapping({ ...partly, path })).toMatchObject({ region_type: "unknown" });
  }
});

test("code, stacks and the kernel's pages are runtime where an engine tells a part of its memory, and unknown where nobody tells", () => {
  const others = [
    { ...nothing, path: "/usr/lib/libtorch_cpu.so", is_code: true },
    { ...nothing, mapping_kind: "stack", path: "[stack]" },
    { ...nothing, mapping_kind: "vdso", path: "[vdso]" },
  ] as const;
  for (const facts of others) {
    expect(classifyMapping({ ...facts, has_labels: true })).toMatchObject({
      region_type: "runtime",
      evidence: "mapping",
    });
    expect(classifyMapping(facts)).toMatchObject({ region_type: "unknown" });
  }
});

test("data of a library, and memory of malloc, stay unknown beside what is told", () => {
  const library = { ...nothing, path: "/usr/lib/libmodel.so", has_labels: true };
  expect(classifyMapping(library)).toMatchObject({ region_type: "unknown" });
  expect(classifyMapping({ ...library, mapping_kind: "heap", path: "[heap]" })).toMatchObject({
    region_type: "unknown",
  });
});

test("a tensor that a header names is told with that evidence", () => {
  expect(engineVerdict("weight", "file_header")).toMatchObject({ region_type: "weight", evidence: "file_header" });
  expect(engineVerdict("weight", "another")).toMatchObject({ evidence: "engine_probe" });
});
