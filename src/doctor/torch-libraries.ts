/** Where the library of PyTorch lies that the Python on PATH would load; no Python is run. */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { programPath } from "./software.ts";

/** Names in a folder that begin so; none where it cannot be read. */
function namesIn(folder: string, begin: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.startsWith(begin))
      .sort();
  } catch {
    // No such folder, or not ours to read.
    return [];
  }
}

/** Paths of libtorch_cpu.so below the folder of a Python, which is that of its environment where it is in one. */
export function torchLibrariesOf(python: string): string[] {
  const library = join(dirname(dirname(python)), "lib");
  const packages = namesIn(library, "python3").flatMap((name) =>
    ["site-packages", "dist-packages"].map((kind) => join(library, name, kind, "torch", "lib", "libtorch_cpu.so")),
  );
  // Distributions put it beside the other libraries.
  const beside = join(library, "x86_64-linux-gnu");
  const shared = namesIn(beside, "libtorch_cpu.so").slice(0, 1);
  return [...packages.filter((path) => existsSync(path)), ...shared.map((name) => join(beside, name))];
}

/** Those of the Python on PATH. */
export function torchLibraries(): string[] {
  const python = programPath("python3");
  return python === null ? [] : torchLibrariesOf(python);
}
