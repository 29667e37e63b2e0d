/** The JSON object in the detail of a step: numbers under the keys that labels and figures need, and handles by their hash. */
import type { Pseudonyms } from "./pseudonyms.ts";

/** Keys whose values are numbers, true, false, or lists of numbers. */
const NUMBERS: ReadonlySet<string> = new Set([
  "kv_rows",
  "kv_cells",
  "kv_row_cells",
  "kv_graph_tokens",
  "prompt_sequences",
  "drafts",
  "kept_guesses",
  "repeats_steps",
  "mixes_tokens",
  "kv_caches",
  "kv_lists",
  "moved_cache",
  "moved_sequences",
  "moved_layers",
  "moved_numbers",
  "moved_bytes",
  "moved_rows",
  "is_lost",
  "experts",
  "activations",
  "engine_time",
  "position_from",
  "position_to",
  "sequence_from",
  "positions",
  "divisor",
  "partial",
  "flash_attention",
  "simulated",
  "tells_steps",
  "tells_tensors",
  "weight_tensors",
  "weight_bytes",
  "weights_missing",
  "block_tokens",
  "blocks",
  "full_blocks",
  "prefix_caching",
  "prompt_tokens",
  "generates",
  "is_gone",
  "n_ctx",
  "n_batch",
  "n_ubatch",
  "n_seq_max",
  "n_threads",
  "n_nodes",
  "sequence",
  "data",
  "probes",
  "symbols",
  "gap_ns",
]);
/** Handles: which context, memory and model is meant. */
const HANDLES: ReadonlySet<string> = new Set(["context", "memory", "model", "drafted_by"]);

/** Null for what is no number, nor a list of them. */
function numbersOf(value: unknown, depth = 3): unknown {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (!Array.isArray(value) || depth === 0) return null;
  return value.map((one) => numbersOf(one, depth - 1));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @returns null where nothing is left */
export function scrubbedDetail(text: string, names: Pseudonyms): string | null {
  let detail: unknown;
  try {
    detail = JSON.parse(text);
  } catch {
    // It says nothing to labels either.
    return null;
  }
  if (!isObject(detail)) return null;
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(detail)) {
    if (NUMBERS.has(key)) kept[key] = numbersOf(value);
    else if (HANDLES.has(key) && typeof value === "string") kept[key] = names.name(value);
    else if (key === "request" && typeof value === "string") kept[key] = names.request(value);
    else if (key === "path" && typeof value === "string") kept[key] = names.path(value);
    else if (key === "settings" && isObject(value)) {
      const settings = Object.entries(value).filter(([name]) => NUMBERS.has(name));
      kept[key] = Object.fromEntries(settings.map(([name, setting]) => [name, numbersOf(setting)]));
    }
  }
  return Object.keys(kept).length === 0 ? null : JSON.stringify(kept);
}
