/** The words of columns that hold one of a closed list, each with what it means; "" where the word says it. */

export const MAPPING_EVENT_KINDS = {
  mmap: "",
  munmap: "",
  mremap: "",
  brk: "",
  madvise: "",
  mprotect: "",
  other_call: "a call that changes the map in a way that it does not tell: shmat, shmdt",
  fork: "",
  exec: "",
  exit: "",
  snapshot_begin: "",
  snapshot: "one mapping of /proc/PID/maps",
  snapshot_end: "",
  file: "name of a mapping, from perf",
  gguf: "the file that is mapped there begins as a GGUF does, whatever its name",
  lost: "records of the process were lost between begin and end",
  lost_names: "names of mappings of the tree were lost between begin and end",
} as const;

/** Kinds of mapped memory. */
export const MAPPING_KINDS = { heap: "", anon: "", stack: "", file: "", shmem: "", vdso: "" } as const;
export type MappingKind = keyof typeof MAPPING_KINDS;

export const TENSOR_KINDS = {
  tensor: "placed by the allocator",
  graph: "found in a graph",
  file: "in a file that was mapped before we looked",
  elsewhere: "in memory that another backend has, such as a graphics card's, at an address of its own",
  layout: "of a cache tensor that was told of before",
  tied: "another name of a weight that was told of before; null for the output matrix, where it has none",
  buffer: "created",
  usage: "of a buffer",
  free: "of a buffer",
  clear: "of a buffer",
} as const;

export const KV_LAYOUTS = {
  rows: "one after another",
  columns: "one element in each row of the tensor",
  paged: "rows in blocks",
  blocks: "rows in blocks, the bytes of each spread over its block",
  moved: "as blocks, in memory that is made anew for every step",
  state: "no row of a token: one state for each sequence",
  unknown: "",
} as const;

export const STEP_KINDS = {
  model_load: "",
  context: "",
  decode: "",
  encode: "tokens that are computed with one another, and of which no row is kept",
  graph: "",
  kv_clear: "",
  kv_trim: "",
  kv_copy: "rows of a sequence that another shares from then on",
  kv_keep: "a sequence alone keeps its rows",
  kv_shift: "positions of a sequence moved",
  kv_divide: "positions of a sequence divided",
  kv_restore: "rows of a sequence, or of all, that were saved before",
  kv_free: "cells of the KV cache given back, or a cache that moves",
  request: "whose request a sequence is, as the engine names it",
  model_free: "",
  context_free: "",
  engine: "a library recognised, or a setting that became known",
  probes: "attached to it",
} as const;

export const TENSOR_USAGES = { any: "", weights: "", compute: "" } as const;
export type TensorUsage = keyof typeof TENSOR_USAGES;

export const TENSOR_EVIDENCE = {
  engine_probe: "",
  engine_graph: "",
  file_header: "the header of the file that is mapped there",
  operand: "an operator was given it as its weights, or wrote rows into it, pass after pass",
  engine_objects: "the engine's own objects in its process name it",
} as const;

/** Classes of data that an engine can tell. */
export const DATA_CLASSES = { weight: "", kv_cache: "", activation: "", runtime: "" } as const;
export type DataClass = keyof typeof DATA_CLASSES;

/** Classes of a region: those, and that nobody knows. */
export const REGION_TYPES = { ...DATA_CLASSES, unknown: "" } as const;
export type RegionType = keyof typeof REGION_TYPES;

export const OPS = { load: "", store: "", load_store: "read and written by one instruction", unknown: "" } as const;
export type AccessOp = keyof typeof OPS;

export const SOURCES = {
  pebs: "",
  ibs: "",
  spe: "",
  clock: "",
  watch: "",
  import: "an imported file that does not say",
} as const;
export type AccessSource = keyof typeof SOURCES;

/** How read or write is known. */
export const OP_EVIDENCE = {
  decoded: "",
  pair: "",
  registers: "",
  data_src: "said by the sample",
  event: "what it counts",
  none: "",
} as const;
export type OpEvidence = keyof typeof OP_EVIDENCE;

export const WATCH_MODES = { rw: "decoded", pair: "W and RW registers", w: "stores only" } as const;
export type WatchMode = keyof typeof WATCH_MODES;

export const WATCH_DESIGNS = {
  short: "dwell of some token periods",
  long: "rest of the run",
  ahead: "rows just ahead of the token axis",
  cohort: "64 B write-once cohort",
} as const;
export type WatchDesign = keyof typeof WATCH_DESIGNS;

export const WATCH_ENDINGS = {
  trap_limit: "",
  dwell: "",
  unmap: "or its pages were given back",
  foreign: "traps of other processes, or by reads of our own probes",
  exit: "",
  lost: "records of the process were lost, so its bytes may have gone",
  end: "of the run",
} as const;
export type WatchEnding = keyof typeof WATCH_ENDINGS;

export const ROLES = { target: "", tracer: "" } as const;

export const ALLOCATION_ENDINGS = {
  freed: "",
  unmapped: "",
  replaced: "the address was given out again and no free was seen",
  none: "alive at the end",
  unpaired: "too many were alive to follow it",
} as const;

export const STACK_KINDS = { python: "", native: "" } as const;

export const PHASES = { weight_load: "", generation: "", teardown: "", idle: "" } as const;
export type Phase = keyof typeof PHASES;

export const STEPS = { prefill: "", decode: "" } as const;
export type Step = keyof typeof STEPS;

export const CACHE_LEVELS = { L1: "", L2: "", L3: "", L4: "", LFB: "", DRAM: "" } as const;

/** What the label of a region rests on. */
export const LABEL_EVIDENCE = {
  engine_probe: "the engine's allocator said so when it placed the tensor",
  engine_graph: "found in the engine's graph, placed before we looked",
  file_header: "the header of the file that is mapped there names it, or says that it is no tensor",
  operand: "an operator of the engine was given it as its weights, or wrote rows into it, pass after pass",
  engine_objects: "the engine's own objects in its process name it",
  file: "the bytes are a mapped model file",
  phase: "a guess: born while the engine loaded or made its context, where tensors could not be seen",
  size: "a guess: such a mapping, by its size alone",
  mapping: "only what the kernel says",
  memray: "a function of the program asked for the bytes",
} as const;
export type LabelEvidence = keyof typeof LABEL_EVIDENCE;

/** True for what is taken for a class of data without anybody having said so. */
export function isGuess(evidence: string): boolean {
  return evidence === "phase" || evidence === "size";
}

/** True where the engine, or the file of its model, names the tensor that lies there. */
export function isNamed(evidence: string): boolean {
  return !isGuess(evidence) && evidence !== "file" && evidence !== "mapping" && evidence !== "memray";
}

export const KV_EVIDENCE = { step: "from the engine's steps", watch: "confirmed by traps on its bytes" } as const;

/** Why the row of a token left the KV cache. */
export const KV_ENDS = {
  trimmed: "its sequence gave up such positions",
  cleared: "the cache was emptied",
  written_over: "another token was written into its cell",
  replaced: "its sequence got the rows of another one, or a saved cache, instead",
  shifted: "it moved in front of the first position",
  memory_gone: "its tensor was freed, or moved, or its process ended",
  finished: "its block was given out again, after the requests that had it had ended",
  preempted: "its block was given out again, as a request that had it was put off, and began anew later",
  given_out: "its block was given out again; whether its request had ended is not known",
} as const;
export type KvEndWord = keyof typeof KV_ENDS;

/** What a figure is about. */
export const SCOPES = { class: "of data", process: "the traced processes as a whole" } as const;
export type Scope = keyof typeof SCOPES;

/** What the bytes of a class are. */
export const BYTES_ARE = {
  mapped: "address space, of which any part may be resident",
  touched: "pages on which accesses fell that lie in no mapping that is known",
  allocated: "asked for",
} as const;
export type BytesAre = keyof typeof BYTES_ARE;

export const METRIC_STATUSES = { ok: "", bound: "", insufficient: "", not_identifiable: "" } as const;
export type MetricStatus = keyof typeof METRIC_STATUSES;

/** What a curve shows: y against x. */
export const CURVES = {
  retention: "P1: share of the bytes written that are needed longer than x",
  age_at_read: "share of the read passes that read data older than x",
  inter_access_interval: "P2: share of the passes over a byte that another follows within x",
  working_set: "P4: bytes touched within a window of length x",
  reads_per_write: "P5: share of the writes whose data is read more often than x times",
  write_once: "P6: share of written blocks of x bytes that are written once",
  read_rate: "P7: reads over time",
  write_rate: "P7: writes over time",
  stride: "P8: share of the pairs of successive accesses whose addresses lie at most x apart",
  run_length:
    "P8: share of the runs of successive accesses, each at most 64 B beyond the one before, that have at most x accesses",
  read_rate_by_lifetime: "P9: how often a byte of a region is read against how long the region lives",
  stores_after_settle: "P10: share of the write passes that come later than x after the write before",
} as const;
export type CurveName = keyof typeof CURVES;

/** How the points of a curve are drawn. */
export const CURVE_SHAPES = {
  survival: "y holds from x on and falls at the next x; it is 1 before the first x",
  distribution: "y holds from x on and rises at the next x; it is 0 before the first x",
  histogram: "y is what lies from x to x_end",
  line: "y at x",
  timeline: "y is the mean from x to x_end",
  points: "each by itself, with a name",
} as const;
export type CurveShape = keyof typeof CURVE_SHAPES;

export const VERDICTS = { PASS: "", FAIL: "", INCONCLUSIVE: "" } as const;
export type Verdict = keyof typeof VERDICTS;

/** How a request ended, as its client sees it. */
export const REQUEST_STATUSES = {
  answered: "to its last event",
  refused: "by an HTTP status other than 200",
  cut: "its answer ended before its last event, or was given up at the end of the run",
  failed: "no answer came",
  served: "by the engine's steps: its client is not ours, and nobody says how its answer ended",
  silent: "it was given up, because the server said nothing for too long",
} as const;
export type RequestStatus = keyof typeof REQUEST_STATUSES;

/** Who says in which sequence a request was served. */
export const SEQUENCE_EVIDENCE = {
  server: "the server says it in its answer",
  engine: "the engine names the request that has the sequence",
  batches: "the batches of no other sequence fit the tokens and times of the request",
} as const;

/** What a row of residency tells of its range. */
export const PAGE_KINDS = {
  looked: "all of it was looked at, and what no other row of the look tells was not in memory",
  resident: "all of it is in memory",
} as const;
