/** The model of random weights that the demo decodes with, kept in the cache. */
import { join } from "node:path";
import { readGgufFile } from "../engine/gguf/file.ts";
import { formatBytes } from "../units.ts";
import { makeCacheDir } from "./cache.ts";
import type { Preparation } from "./install.ts";
import { type ModelSpec, modelBytes, modelName, writeModel } from "./model/write-model.ts";

/** The model of `spec` below `cacheDir`, written if it is missing or not whole. @throws MrmTraceError environment, or what `signal` carries */
export async function ensureDemoModel(
  cacheDir: string,
  spec: ModelSpec,
  { signal, notice }: Preparation = {},
): Promise<string> {
  const folder = join(cacheDir, "models");
  const path = join(folder, `${modelName(spec).replaceAll(" ", "-")}.gguf`);
  if (isWhole(path, spec)) return path;
  makeCacheDir(folder);
  notice?.(`writing a model of random weights (${formatBytes(modelBytes(spec))}), once, to ${path}`);
  await writeModel(spec, path, signal ? { force: true, signal } : { force: true });
  return path;
}

/** By name, length and directory: a hash of every byte would cost more than the start of the demo. */
function isWhole(path: string, spec: ModelSpec): boolean {
  const result = readGgufFile(path);
  if (!result.ok) return false;
  const { metadata, fileBytes } = result.directory;
  return metadata.get("general.name") === modelName(spec) && fileBytes === modelBytes(spec);
}
