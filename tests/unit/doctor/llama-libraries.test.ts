import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type LlamaPlaces, librariesOfProgram, llamaLibraries } from "../../../src/doctor/llama-libraries.ts";

let folder = "";
const made: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-llama-"));
  made.push(folder);
});
afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true });
});

/** Nothing is there unless told. */
const found = (places: Partial<LlamaPlaces>) =>
  llamaLibraries({
    path: [],
    environments: [],
    home: null,
    cwd: folder,
    loaderCache: null,
    libraryFolders: [],
    ...places,
  });

function file(path: string, text = "x"): string {
  const whole = join(folder, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, text);
  return whole;
}

describe("llama.cpp in packages of Python", () => {
  const PACKAGES = "env/lib/python3.12/site-packages";

  test("is found beside a Python on PATH, with the version of its package, and that Python is not run", () => {
    file("env/bin/python3", `#!/bin/sh\ntouch ${folder}/ran\n`);
    file(`${PACKAGES}/llama_cpp_python-0.3.36.dist-info/METADATA`);
    file(`${PACKAGES}/llama_cpp_python-0.4\u001b[2J.dist-info/METADATA`);
    const library = file(`${PACKAGES}/llama_cpp/lib/libllama.so`);
    const base = file(`${PACKAGES}/llama_cpp/lib/libggml-base.so`);
    file(`${PACKAGES}/llama_cpp/lib/libmtmd.so`);
    expect(found({ path: [join(folder, "env/bin")] })).toEqual([
      { name: "llama-cpp-python 0.3.36", path: library, parts: [base] },
    ]);
    expect(() => rmSync(join(folder, "ran"))).toThrow();
  });

  test("is found in an active environment, and once where its Python is on PATH too", () => {
    file("env/bin/python");
    const library = file(`${PACKAGES}/xllamacpp/xllamacpp.abi3.so`);
    file(`${PACKAGES}/xllamacpp/__init__.py`);
    const expected = [{ name: "xllamacpp", path: library, parts: [] }];
    expect(found({ environments: [join(folder, "env")] })).toEqual(expected);
    expect(found({ environments: [join(folder, "env")], path: [join(folder, "env/bin")] })).toEqual(expected);
    expect(found({})).toEqual([]);
  });

  test("is found among the packages of a user, and of each Python that pyenv keeps", () => {
    const ours = file("home/.local/lib/python3.11/site-packages/llama_cpp/libllama.so");
    file("pyenv/shims/python3");
    const kept = file("pyenv/versions/3.12.1/lib/python3.12/site-packages/llama_cpp/lib/libllama.so");
    const libraries = found({ path: [join(folder, "pyenv/shims")], home: join(folder, "home") });
    expect(libraries.map(({ path }) => path)).toEqual([kept, ours]);
  });
});

describe("llama.cpp in packages of Node", () => {
  test("is found in node_modules of this folder and of those above it, prebuilt or built there", () => {
    const prebuilt = file("node_modules/@node-llama-cpp/linux-x64/bins/linux-x64/libllama.v0.5.0.so");
    const cpu = ["haswell", "zen4"].map((name) =>
      file(`${dirname(prebuilt).slice(folder.length + 1)}/libggml-cpu-${name}.so`),
    );
    file("node_modules/@node-llama-cpp/linux-x64/bins/linux-x64/libllama-common.so");
    file("node_modules/@node-llama-cpp/linux-x64/package.json", '{"version":"3.22.1"}');
    const built = file("work/node_modules/node-llama-cpp/llama/localBuilds/linux-x64/Release/libllama.so");
    file("work/node_modules/node-llama-cpp/package.json", '{"version":"3.0.0\\u001b[2J"}');
    const cwd = join(folder, "work", "deep");
    mkdirSync(cwd);
    expect(found({ cwd })).toEqual([
      { name: "node-llama-cpp", path: built, parts: [] },
      { name: "node-llama-cpp 3.22.1", path: prebuilt, parts: cpu.slice(0, 1) },
    ]);
  });
});

describe("llama.cpp among the libraries of the system", () => {
  test("is found by the loader's cache and in its folders, once for all names of a file", () => {
    const library = file("lib/libllama.so.0.0.1");
    for (const name of ["libllama.so", "libllama.so.0"]) symlinkSync("libllama.so.0.0.1", join(folder, "lib", name));
    const base = file("lib/libggml-base.so.0");
    const cached = file("opt/libllama.so.0");
    const words = [
      "glibc-ld.so.cache1.1",
      "libllama.so.0",
      cached,
      "libllama-common.so",
      join(folder, "opt/libllama-common.so"),
    ];
    const loaderCache = file("ld.so.cache", words.join("\0"));
    const beside = { loaderCache, libraryFolders: [join(folder, "lib")] };
    expect(found(beside)).toEqual([
      { name: "libllama.so.0", path: cached, parts: [] },
      { name: "libllama.so", path: join(folder, "lib/libllama.so"), parts: [base] },
    ]);
    expect(library).toEndWith(".1");
  });

  test("is none where what the cache names is gone, is no file, or is a pipe that would hold whoever opens it", () => {
    mkdirSync(join(folder, "lib/libllama.so"), { recursive: true });
    mkdirSync(join(folder, "pipe"));
    Bun.spawnSync(["mkfifo", join(folder, "pipe/libllama.so")]);
    const loaderCache = file("ld.so.cache", `\0/gone/libllama.so\0${folder}/lib/libllama.so\0`);
    expect(found({ loaderCache, libraryFolders: [join(folder, "pipe")] })).toEqual([]);
  });
});

test("no more is told than a reader can use, however many lie in a folder", () => {
  for (let i = 0; i < 40; i++) file(`node_modules/@node-llama-cpp/p${i}/bins/p${i}/libllama.so`);
  expect(found({})).toHaveLength(8);
});

test("the libraries of a program lie beside the file that its name leads to, or in lib beside its folder", () => {
  const beside = ["opt/llama/libllama.so", "opt/llama/libggml-base.so"].map((path) => file(path));
  const program = file("opt/llama/llama-server");
  symlinkSync(program, join(folder, "llama-server"));
  expect(librariesOfProgram(join(folder, "llama-server"))).toEqual(beside);
  const library = file("usr/lib/libllama.so.1");
  expect(librariesOfProgram(file("usr/bin/llama-cli"))).toEqual([library]);
  expect(librariesOfProgram(file("bin/llama-cli"))).toEqual([]);
});
