/** Where the library of vLLM's CPU backend lies that the Python on PATH would load; no Python is run. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { packageFolders } from "../target/python-packages.ts";
import { programPath } from "./software.ts";

/** Those for other processors lie beside the one whose name says nothing of one. */
const LIBRARY = /^_C\.(?:abi3|cpython-[\w-]{1,40})\.so$/;

export function vllmLibrariesOf(python: string): string[] {
  return packageFolders(python, "vllm").flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => LIBRARY.test(name))
      .map((name) => join(folder, name)),
  );
}

/** Those of the Python on PATH. */
export function vllmLibraries(): string[] {
  const python = programPath("python3");
  return python === null ? [] : vllmLibrariesOf(python);
}
