import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { torchLibrariesOf } from "../../../src/doctor/torch-libraries.ts";

test("the library of PyTorch is found among the packages of a Python, and beside the libraries of a distribution", () => {
  const folder = mkdtempSync(join(tmpdir(), "mrm-torch-"));
  const python = join(folder, "bin", "python3");
  const paths = [
    join(folder, "lib", "python3.11", "site-packages", "torch", "lib", "libtorch_cpu.so"),
    join(folder, "lib", "x86_64-linux-gnu", "libtorch_cpu.so.1.13"),
  ];
  try {
    expect(torchLibrariesOf(python)).toEqual([]);
    for (const path of paths) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, "");
    }
    expect(torchLibrariesOf(python)).toEqual(paths);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
