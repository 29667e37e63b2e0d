/** What the header of a GGUF says of its model. */
import type { ModelFacts } from "../../schema/model-facts.ts";
import type { GgufDirectory } from "./directory.ts";
import { readGgufFile } from "./file.ts";
import { mayHaveWindows, windowLayers } from "./window-layers.ts";

/** Names are printed and become keys: those of a hostile file may be anything. */
const NAME = /^[\x20-\x7e]{1,128}$/;

function textOf({ metadata }: GgufDirectory, key: string): string | null {
  const value = metadata.get(key);
  return typeof value === "string" && NAME.test(value) ? value : null;
}

/** A count; null for what is none, and where layers differ and the header has a list. */
function countOf({ metadata }: GgufDirectory, key: string): number | null {
  const value = metadata.get(key);
  const count = typeof value === "bigint" ? Number(value) : value;
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

function lengthOf({ metadata }: GgufDirectory, key: string): number | null {
  const value = metadata.get(key);
  return typeof value === "object" ? value.length : null;
}

/** @returns facts of any whole directory; a key that is missing is null */
export function factsOfModel(directory: GgufDirectory): ModelFacts {
  const bytes = new Map<string, number>();
  let parameters = 0;
  for (const tensor of directory.tensors) {
    parameters += tensor.shape.reduce((product, length) => product * length, 1);
    bytes.set(tensor.type, (bytes.get(tensor.type) ?? 0) + (tensor.bytes ?? 0));
  }
  const [most] = [...bytes].sort(([, a], [, b]) => b - a);
  const architecture = textOf(directory, "general.architecture");
  const field = (key: string): number | null => countOf(directory, `${architecture}.${key}`);
  const said = (key: string) => (directory.metadata.has(`${architecture}.${key}`) ? field(key) : undefined);
  const header = {
    layers: field("block_count"),
    window: said("attention.sliding_window"),
    period: said("attention.sliding_window_pattern"),
  };
  const windows = windowLayers(architecture, header);
  return {
    name: textOf(directory, "general.name"),
    architecture,
    parameters: Number.isSafeInteger(parameters) ? parameters : null,
    quantisation: most?.[0] ?? null,
    bytes_by_type: Object.fromEntries(bytes),
    file_bytes: directory.fileBytes,
    layers: field("block_count"),
    heads: field("attention.head_count"),
    kv_heads: field("attention.head_count_kv"),
    embedding: field("embedding_length"),
    feed_forward: field("feed_forward_length"),
    vocabulary: field("vocab_size") ?? lengthOf(directory, "tokenizer.ggml.tokens"),
    experts: field("expert_count"),
    experts_used: field("expert_used_count"),
    context_tokens: field("context_length"),
    ...windows,
    ...(mayHaveWindows(architecture, header) ? { has_other_windows: true } : {}),
  };
}

/** Facts of a file; null where it is no whole GGUF, or has not the inode that is given. Never throws for what the file holds. */
export function modelFacts(path: string, inode?: bigint): ModelFacts | null {
  const result = readGgufFile(path, inode);
  return result.ok ? factsOfModel(result.directory) : null;
}
