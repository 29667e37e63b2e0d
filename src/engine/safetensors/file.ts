/** Files of the format safetensors, as they are mapped. */
import { type NamedTensor, type Refusal, readDirectory } from "../tensor-file.ts";
import { parseSafetensors } from "./header.ts";

export const SAFETENSORS = "safetensors";
/** Paths of mappings of such files, as the kernel tells them. */
export const SAFETENSORS_PATH = /^\/.*\.safetensors(?: \(deleted\))?$/;

export type TensorNames = { readonly ok: true; readonly tensors: readonly NamedTensor[] } | Refusal;

/** The tensors of a file. @param inode that it must have: what the path leads to may have changed */
export function readSafetensorsFile(path: string, inode: bigint): TensorNames {
  return readDirectory<TensorNames>(path, (file) => {
    if (file.inode !== inode) return { ok: false, reason: "another file has its name now", offset: 0 };
    const result = parseSafetensors(file);
    return result.ok ? { ok: true, tensors: result.header.tensors } : result;
  });
}

const LAYER = /(?:^|\.)(\d{1,6})\./;

/** The layer that the name of a parameter tells: its first number between dots, as in `model.layers.3.mlp.up_proj.weight`. */
export function layerOfParameter(name: string): number | null {
  const [, layer] = LAYER.exec(name) ?? [];
  return layer === undefined ? null : Number(layer);
}
