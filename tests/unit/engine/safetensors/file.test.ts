import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { layerOfParameter, readSafetensorsFile, SAFETENSORS_PATH } from "../../../../src/engine/safetensors/file.ts";
import { safetensorsBytes, vectors } from "../../../fixtures/safetensors.ts";

let folder = "";
let path = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-safetensors-"));
  path = join(folder, "model.safetensors");
  writeFileSync(path, safetensorsBytes(vectors({ a: 8, b: 16 }), 24));
});
afterAll(() => rmSync(folder, { recursive: true }));

const inodeOf = (file: string): bigint => statSync(file, { bigint: true }).ino;

test("a file gives the names of its tensors", () => {
  expect(readSafetensorsFile(path, inodeOf(path))).toMatchObject({ ok: true, tensors: [{ name: "a" }, { name: "b" }] });
});

test("a file that took the name of the one that is mapped is refused, and so is what is no file", () => {
  expect(readSafetensorsFile(path, inodeOf(path) + 1n)).toMatchObject({ reason: "another file has its name now" });
  expect(readSafetensorsFile(folder, inodeOf(folder))).toMatchObject({ ok: false, reason: "not a regular file" });
  expect(readSafetensorsFile(join(folder, "none"), 1n)).toMatchObject({ ok: false });
});

test.each([
  ["model.layers.12.self_attn.q_proj.weight", 12],
  ["transformer.h.0.mlp.c_fc.weight", 0],
  ["3.weight", 3],
  ["model.layers.4.mlp.experts.7.w1", 4],
  ["model.embed_tokens.weight", null],
  ["conv2d.weight", null],
])("the parameter %s is of layer %p", (name, layer) => {
  expect(layerOfParameter(name)).toBe(layer);
});

test("mappings of such files are told by their paths, deleted files too", () => {
  for (const name of ["/m/model.safetensors", "/m/model-1-of-2.safetensors (deleted)"]) {
    expect(SAFETENSORS_PATH.test(name)).toBe(true);
  }
  for (const name of ["/m/model.safetensors.index.json", "/memfd:safetensors", "[heap]", "/m/a.gguf"]) {
    expect(SAFETENSORS_PATH.test(name)).toBe(false);
  }
});
