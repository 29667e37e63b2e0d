/** The words of columns that hold one of a closed list, each with what it means; "" where the word says it. */

export const MAPPING_KINDS = {
  mmap: "",
  munmap: "",
  mremap: "",
  brk: "",
  madvise: "",
  mprotect: "",
  fork: "",
  exec: "",
  exit: "",
  snapshot_begin: "",
  snapshot: "one mapping of /proc/PID/maps",
  snapshot_end: "",
  file: "name of a mapping, from perf",
} as const;

export const TENSOR_KINDS = {
  tensor: "placed by the allocator",
  graph: "found in a graph",
  layout: "of a cache tensor that was told of before",
  buffer: "created",
  usage: "of a buffer",
  free: "of a buffer",
  clear: "of a buffer",
} as const;

export const KV_LAYOUTS = {
  rows: "one after another",
  columns: "one element in each row of the tensor",
  paged: "rows in blocks",
  unknown: "",
} as const;

export const STEP_KINDS = {
  model_load: "",
  context: "",
  decode: "",
  graph: "",
  kv_clear: "",
  kv_trim: "",
  model_free: "",
  context_free: "",
  engine: "a library recognised, or a setting that became known",
  probes: "attached to it",
} as const;
