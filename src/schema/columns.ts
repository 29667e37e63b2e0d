/**
 * THE table of columns: every stream and every derived file, each column once.
 * The C header, the Arrow schemas, the Parquet metadata and docs/columns.md are generated from it.
 */

/** Storage type of a column, the same word for C, typed arrays and Arrow. */
export type ColumnType = "u64" | "i64" | "u32" | "i32" | "u16" | "u8" | "f64" | "f32" | "bool" | "string";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Unit in words; "" for identifiers and names. */
  readonly unit: string;
  readonly doc: string;
  /** True where a row may have no value. */
  readonly nullable?: boolean;
  /** True where the kernel writes the column into a ring block; the others are filled by the reader. */
  readonly ring?: boolean;
}

export interface Table {
  readonly doc: string;
  /** "capture": a stream below capture/. "derived": a file that analyse writes. "ring": never stored as it is. */
  readonly kind: "capture" | "derived" | "ring";
  readonly columns: readonly Column[];
}

// Names and types are kept as words, so that rows and Arrow tables are typed by the table.
function col<const N extends string, const T extends ColumnType>(name: N, type: T, unit: string, doc: string) {
  return { name, type, unit, doc };
}
/** A column that may be null. */
function opt<const N extends string, const T extends ColumnType>(name: N, type: T, unit: string, doc: string) {
  return { name, type, unit, doc, nullable: true };
}
/** A column that the kernel writes. */
function ring<const N extends string, const T extends ColumnType>(name: N, type: T, unit: string, doc: string) {
  return { name, type, unit, doc, ring: true };
}

const TIME = col("timestamp_ns", "u64", "ns of CLOCK_MONOTONIC", "When it happened.");
const RING_TIME = { ...TIME, ring: true };
const PID = col("pid", "u32", "", "Process (thread group) in the initial pid namespace.");
const TID = col("tid", "u32", "", "Thread in the initial pid namespace.");
const EPOCH = col("exec_epoch", "u32", "count", "How many exec calls this pid had made: 0 before the first.");
const CPU = col("cpu", "u16", "", "CPU on which it happened.");

export const TABLES = {
  mapping: {
    kind: "capture",
    doc: "Birth, change and death of every mapping and process of the tree.",
    columns: [
      { ...TIME, doc: "When it took effect: entry of the call for an unmapping, its return for a mapping." },
      PID,
      TID,
      EPOCH,
      col(
        "kind",
        "string",
        "",
        "mmap, munmap, mremap, brk, madvise, mprotect, fork, exec, exit, snapshot (one mapping of /proc/PID/maps), snapshot_begin, snapshot_end or file (name of a mapping, from perf).",
      ),
      col("addr", "u64", "address", "First byte of the range; the new place for mremap."),
      col("size_bytes", "u64", "bytes", "Length of the range, whole pages where the kernel rounds."),
      opt("old_addr", "u64", "address", "mremap: the old place; brk: the break before."),
      opt("old_size_bytes", "u64", "bytes", "mremap: the old length."),
      opt("prot", "u32", "PROT_ bits", "Protection: 1 read, 2 write, 4 execute."),
      opt("flags", "u32", "MAP_ bits", "mmap or mremap flags; the advice for madvise."),
      opt("file_offset_bytes", "u64", "bytes", "Offset in the file."),
      opt("dev", "u32", "major << 20 | minor", "Device of the file."),
      opt("inode", "u64", "", "Inode of the file."),
      opt("path", "string", "", "Path of the file, or a name such as [heap]."),
      opt("result", "i64", "", "Return value of the call; negative errno where it failed."),
      opt("child_pid", "u32", "", "fork: the new process."),
      opt("begin_ns", "u64", "ns of CLOCK_MONOTONIC", "Entry of the call."),
      opt("end_ns", "u64", "ns of CLOCK_MONOTONIC", "Return of the call."),
    ],
  },
  fault: {
    kind: "capture",
    doc: "Page faults of the tree.",
    columns: [
      RING_TIME,
      ring("address", "u64", "address", "Address that faulted."),
      ring("ip", "u64", "address", "Instruction that faulted."),
      { ...PID, ring: true },
      { ...TID, ring: true },
      ring(
        "fault_flags",
        "u32",
        "bits",
        "1 write, 2 taken in user mode, 4 instruction fetch, 8 protection fault, 16 the second row of a major fault (its I/O is done), 32 read or write not known. Faults taken = rows without 16.",
      ),
      CPU,
    ],
  },
  tensor: {
    kind: "capture",
    doc: "Every tensor and buffer that the engine places in memory.",
    columns: [
      TIME,
      PID,
      TID,
      col(
        "kind",
        "string",
        "",
        "tensor (placed by the allocator), graph (found in a graph), buffer (created), usage (of a buffer), free (of a buffer), clear (of a buffer).",
      ),
      opt("name", "string", "", "Name of the tensor."),
      opt("tensor_type", "string", "", "ggml type, such as q8_0."),
      col("addr", "u64", "address", "First byte of the tensor or buffer."),
      col("size_bytes", "u64", "bytes", "Bytes of the tensor or buffer."),
      opt("shape", "string", "elements", "ne0xne1xne2xne3, fastest first."),
      opt("buffer", "u64", "address", "Handle of the buffer it lies in."),
      opt("buffer_addr", "u64", "address", "First byte of that buffer."),
      opt("buffer_size_bytes", "u64", "bytes", "Bytes of that buffer."),
      opt("usage", "string", "", "any, weights or compute, as the engine says."),
      opt("region_type", "string", "", "weight, kv_cache, activation or runtime, by name and usage."),
      opt("layer", "i32", "", "Layer in the tensor's name."),
      opt("logical_id", "string", "", "What stays the same when the tensor moves: layer, K or V, or the name."),
      col("evidence", "string", "", "engine_probe or engine_graph."),
    ],
  },
  step: {
    kind: "capture",
    doc: "What the engine does, in time: loads, contexts, batches, graphs, cache clears.",
    columns: [
      { ...TIME, doc: "When it began." },
      opt("end_ns", "u64", "ns of CLOCK_MONOTONIC", "When it returned; null while it had not."),
      PID,
      TID,
      col(
        "kind",
        "string",
        "",
        "model_load, context, decode, graph, kv_clear, kv_trim, model_free, context_free, engine (a library recognised) or probes (attached to it).",
      ),
      opt("n_tokens", "u32", "tokens", "Tokens of the batch."),
      opt("n_sequences", "u32", "sequences", "Sequences in the batch, where it says."),
      opt("position_first", "i32", "tokens", "Least position in the batch, where one sequence is in it."),
      opt("sequence_id", "i32", "", "The sequence, where the batch has one."),
      opt("result", "i64", "", "Return value."),
      opt("detail", "string", "", "JSON object: path of the model or library, and what else is known."),
    ],
  },
  trap: {
    kind: "ring",
    doc: "One trap of a hardware watchpoint, as the kernel program writes it; the reader makes access rows of it.",
    columns: [
      RING_TIME,
      ring("ip", "u64", "address", "Instruction after the access; the instruction itself for rep."),
      ring("register_si", "u64", "", "rsi at the trap."),
      ring("register_di", "u64", "", "rdi at the trap."),
      { ...PID, ring: true },
      { ...TID, ring: true },
      ring("cookie", "u32", "bits", "generation << 8 | slot << 2 | role (0 RW, 1 W of a pair, 2 RW of a pair)."),
      ring("trap_flags", "u32", "bits", "1 taken in the kernel, 2 this trap stopped the register."),
    ],
  },
  sample: {
    kind: "ring",
    doc: "One sample of the PMU on a user address, as the kernel program writes it; the reader makes access rows of it.",
    columns: [
      RING_TIME,
      ring("address", "u64", "address", "Data address."),
      ring("ip", "u64", "address", "Instruction of the access, or the one after it where the precise level is 1."),
      ring("period", "u64", "events", "Events that the sample stands for."),
      ring("data_src", "u64", "bits", "perf's data source word; 0 where the sample has none."),
      ring(
        "weight",
        "u64",
        "bits",
        "Weight as perf gives it: latency in cycles in the low 32 bits, then two of 16 bits.",
      ),
      { ...PID, ring: true },
      { ...TID, ring: true },
      ring("event", "u32", "", "Number of the event in the plan of the run."),
      CPU,
    ],
  },
  access: {
    kind: "capture",
    doc: "Loads and stores.",
    columns: [
      TIME,
      col("address", "u64", "address", "Data address; the first watched byte for a watch."),
      col("op_type", "string", "", "load, store, load_store (read and written by one instruction) or unknown."),
      col("ip", "u64", "address", "Instruction; for a watch the one after the access."),
      PID,
      TID,
      CPU,
      col("source", "string", "", "watch, pebs, ibs, spe, clock, or import where an imported file does not say."),
      col(
        "period",
        "u64",
        "accesses",
        "How many accesses the row stands for: 1 for a watch; 0 for a row that tells where data came from, and no count.",
      ),
      opt("watch_id", "u32", "", "The watch that saw it."),
      col("in_kernel", "bool", "", "The kernel did it on the program's behalf."),
      col(
        "op_evidence",
        "string",
        "",
        "decoded, pair, registers, data_src (said by the sample), event (what it counts) or none: how read or write is known.",
      ),
      opt("data_src", "u64", "bits", "perf's data source word."),
      opt(
        "weight_cycles",
        "u32",
        "cycles",
        "Latency in cycles. PEBS: from the first try to the use, queueing included. IBS: of loads that missed L1.",
      ),
    ],
  },
  watch: {
    kind: "capture",
    doc: "Every watch: where, how likely it was drawn, how long it saw, how it ended.",
    columns: [
      { ...TIME, doc: "When the last register of the watch was armed: exposure begins." },
      col("end_ns", "u64", "ns of CLOCK_MONOTONIC", "When exposure ended: the k-th trap, or just before disarming."),
      col("watch_id", "u32", "", "Number of the watch in this run, from 1."),
      PID,
      col("addr", "u64", "address", "First watched byte."),
      col("size_bytes", "u32", "bytes", "Watched bytes: 8 unless the region was smaller."),
      col("mode", "string", "", "rw (decoded), pair (W and RW registers) or w (stores only)."),
      col(
        "design",
        "string",
        "",
        "short (dwell of some token periods), long (rest of the run), ahead (rows just ahead of the token axis), cohort (64 B write-once cohort).",
      ),
      col("stratum", "string", "", "Stratum it was drawn from, such as weight/q8_0."),
      col("region_type", "string", "", "Class of the bytes when drawn."),
      opt("tensor", "string", "", "Tensor when drawn."),
      col("stratum_bytes", "u64", "bytes", "Bytes of the stratum when drawn."),
      col("inclusion_probability", "f64", "1", "Probability that this draw took these bytes, given its stratum."),
      col("draw_weight", "f64", "1", "Share of draws that its stratum was given."),
      col("trap_limit", "u32", "traps", "k: the watch ends at this trap."),
      col("dwell_limit_ns", "u64", "ns", "The watch ends after this time."),
      col("n_hits", "u32", "traps", "Traps of the target inside the exposure."),
      col("n_foreign", "u32", "traps", "Traps of other processes at the same address."),
      col("n_kernel", "u32", "traps", "Traps taken in the kernel."),
      col("ended_by", "string", "", "trap_limit, dwell, unmap, foreign, budget, exit or end (of the run)."),
      col("n_registers", "u32", "", "Registers that held it, over all CPUs."),
    ],
  },
  process: {
    kind: "capture",
    doc: "What /proc says of every process of the tree, and of the machine.",
    columns: [
      TIME,
      PID,
      col("role", "string", "", "target or tracer."),
      col("rss_bytes", "u64", "bytes", "Resident set."),
      col("rss_anon_bytes", "u64", "bytes", "Anonymous part of it."),
      col("rss_file_bytes", "u64", "bytes", "File part of it."),
      col("rss_shmem_bytes", "u64", "bytes", "Shared memory part of it."),
      opt("pss_bytes", "u64", "bytes", "Proportional set, read less often."),
      col("vms_bytes", "u64", "bytes", "Mapped address space."),
      col("cpu_user_ns", "u64", "ns", "CPU time in user mode so far."),
      col("cpu_system_ns", "u64", "ns", "CPU time in the kernel so far."),
      col("minor_faults", "u64", "faults", "Minor faults so far."),
      col("major_faults", "u64", "faults", "Major faults so far."),
      col("threads", "u32", "threads", "Threads."),
      opt("read_bytes", "u64", "bytes", "Read from storage so far."),
      opt("write_bytes", "u64", "bytes", "Written to storage so far."),
      opt("psi_cpu_some_ns", "u64", "ns", "CPU pressure of the machine so far."),
      opt("psi_memory_some_ns", "u64", "ns", "Memory pressure of the machine so far."),
      opt("mem_available_bytes", "u64", "bytes", "MemAvailable of the machine."),
      opt(
        "temperature_c",
        "f32",
        "Celsius",
        "Hottest sensor of the processor, read once a second as all that follows.",
      ),
      opt("core_throttle_events", "u64", "events", "Thermal throttling of all cores since boot."),
      opt("package_throttle_events", "u64", "events", "Thermal throttling of all packages since boot."),
      opt("throttled_ns", "u64", "ns", "Time that cores were throttled since boot, summed over cores."),
      opt("cpu_freq_min_mhz", "f32", "MHz", "Lowest frequency of a CPU now."),
      opt("cpu_freq_mean_mhz", "f32", "MHz", "Mean frequency of the CPUs now."),
      opt("cpu_freq_max_mhz", "f32", "MHz", "Highest frequency of a CPU now."),
      opt("steal_ns", "u64", "ns", "Time that the host took from the CPUs of this virtual machine since boot."),
    ],
  },
  allocation: {
    kind: "capture",
    doc: "One row per allocation and lifetime, as memray saw them; a mapping that was unmapped in parts has a row for each part. Written when it ended. Addresses, sizes and the order are exact, times are not.",
    columns: [
      { ...TIME, doc: "Middle of the interval in which it was allocated." },
      col("birth_error_ns", "u64", "ns", "Half the width of that interval, uncertainty of the clocks included."),
      opt(
        "death_ns",
        "u64",
        "ns of CLOCK_MONOTONIC",
        "Middle of the interval in which it ended; null where it had not.",
      ),
      opt("death_error_ns", "u64", "ns", "Half the width of that interval."),
      PID,
      col("thread", "u32", "", "Thread that allocated, as memray numbers them: not a tid."),
      opt("thread_name", "string", "", "Name of that thread in Python."),
      col("addr", "u64", "address", "First byte."),
      col("size_bytes", "u64", "bytes", "Bytes that were asked for."),
      col("allocator", "string", "", "Function that was called, such as malloc, mmap or pymalloc_malloc."),
      col(
        "ended_by",
        "string",
        "",
        "freed, unmapped, replaced (the address was given out again and no free was seen), none (alive at the end) or unpaired (too many were alive to follow it).",
      ),
      opt("stack_id", "u32", "", "Innermost Python frame in allocation_stack."),
      opt("native_stack_id", "u32", "", "Innermost native frame in allocation_stack."),
      col("birth_order", "u64", "records", "Number of the allocation among all allocations and frees, from 0."),
      opt("death_order", "u64", "records", "Number of what ended it."),
    ],
  },
  allocation_stack: {
    kind: "capture",
    doc: "Frames of the stacks of allocations: a row is a frame below its parent, so a stack is the id of its innermost frame.",
    columns: [
      { ...TIME, doc: "Memory record before it was first seen." },
      PID,
      col("kind", "string", "", "python or native; each has ids of its own."),
      col("stack_id", "u32", "", "Number of the frame in its stack, from 1."),
      opt("parent_id", "u32", "", "The frame that called it; null for an outermost one."),
      opt("function", "string", "", "Function of a Python frame."),
      opt("file", "string", "", "Source file of a Python frame; object of a native one."),
      opt("line", "u32", "", "Line of a Python frame."),
      opt("ip", "u64", "address", "Instruction of a native frame."),
      opt("object_offset_bytes", "u64", "bytes", "Its place in the object, counted from where that lies."),
    ],
  },
  allocation_memory: {
    kind: "capture",
    doc: "Memory over time, as memray saw it, every 10 ms.",
    columns: [
      TIME,
      col("error_ns", "u64", "ns", "How far the time may be wrong."),
      PID,
      col("rss_bytes", "u64", "bytes", "Resident set."),
      col("live_bytes", "u64", "bytes", "Bytes allocated and not freed."),
      opt("live_allocations", "u64", "allocations", "Allocations that are alive; null for an aggregated capture."),
    ],
  },
  allocation_site: {
    kind: "capture",
    doc: "Sums of an aggregated memray capture: one row per allocator, thread and stack. It has no lifetimes.",
    columns: [
      { ...TIME, doc: "End of the capture." },
      PID,
      col("thread", "u32", "", "Thread that allocated, as memray numbers them: not a tid."),
      opt("thread_name", "string", "", "Name of that thread in Python."),
      col("allocator", "string", "", "Function that was called, such as malloc or mmap."),
      opt("stack_id", "u32", "", "Innermost Python frame in allocation_stack."),
      opt("native_stack_id", "u32", "", "Innermost native frame in allocation_stack."),
      col("peak_allocations", "u64", "allocations", "Alive when most bytes were."),
      col("peak_bytes", "u64", "bytes", "Their bytes."),
      col("leaked_allocations", "u64", "allocations", "Alive at the end."),
      col("leaked_bytes", "u64", "bytes", "Their bytes."),
    ],
  },
  trace: {
    kind: "derived",
    doc: "Labelled access rows: trace/part-*.parquet. The first 18 columns are those of the Python package.",
    columns: [
      opt("run_id", "string", "", "The run."),
      opt("sample_id", "u64", "", "Row number, in order of time."),
      { ...TIME, nullable: true },
      opt("phase", "string", "", "weight_load, generation, teardown or idle."),
      opt("address", "u64", "address", "Data address."),
      opt("address_page", "u64", "4 KiB pages", "address >> 12."),
      opt("op_type", "string", "", "load, store, load_store or unknown."),
      opt("symbol", "string", "", "Function of the instruction; empty if none."),
      opt("dso", "string", "", "File of the instruction; empty if none."),
      opt("region_type", "string", "", "weight, kv_cache, activation, runtime or unknown."),
      opt("region_id", "u32", "", "Row of region_map.parquet; 0 for unknown."),
      opt("access_latency_ns", "u32", "ns", "Latency; null where the source has none."),
      opt("cache_level", "string", "", "L1 L2 L3 L4 LFB DRAM; null where the source has none."),
      opt("numa_node", "u8", "", "Node of the data, where known."),
      opt("cpu_id", "u16", "", "CPU of the access."),
      opt("thread_id", "u32", "", "Thread of the access."),
      opt("token_index", "u32", "tokens", "Decode step of the access, from 0."),
      opt("context_tokens", "u32", "tokens", "Tokens in the context at that step."),
      { ...PID, nullable: true },
      opt("source", "string", "", "As in access."),
      opt("ip", "u64", "address", "Instruction."),
      opt("period", "u64", "accesses", "Accesses that the row stands for."),
      opt("watch_id", "u32", "", "The watch that saw it."),
      opt("step", "string", "", "prefill or decode within generation."),
      opt("logical_id", "string", "", "Logical tensor."),
      opt("tensor", "string", "", "Tensor; null where several share the bytes."),
      opt("confidence", "f32", "1", "Confidence of the label, 0 to 1."),
      opt("weight_cycles", "u32", "cycles", "Latency in cycles as sampled."),
    ],
  },
  region_map: {
    kind: "derived",
    doc: "One row per region or tensor and lifetime. The first 7 columns are those of the Python package.",
    columns: [
      opt("region_id", "i64", "", "Number of the region, from 1."),
      opt("region_type", "string", "", "weight, kv_cache, activation, runtime or unknown."),
      opt("page_min", "i64", "4 KiB pages", "First page."),
      opt("page_max", "i64", "4 KiB pages", "Last page, inclusive."),
      opt("first_seen_ns", "i64", "ns of CLOCK_MONOTONIC", "First access seen, else the birth."),
      opt("last_seen_ns", "i64", "ns of CLOCK_MONOTONIC", "Last access seen, else the death."),
      opt("access_count", "i64", "accesses", "Access rows seen."),
      PID,
      EPOCH,
      opt("logical_id", "string", "", "Logical tensor."),
      opt("name", "string", "", "Name of the region: tensor, file, [heap], ..."),
      opt("tensor", "string", "", "Tensor; null where several share the bytes."),
      opt("layer", "i32", "", "Layer."),
      col("addr", "u64", "address", "First byte."),
      col("size_bytes", "u64", "bytes", "Bytes."),
      opt("mapping_kind", "string", "", "heap, stack, anon, file, shmem or vdso."),
      col("birth_ns", "u64", "ns of CLOCK_MONOTONIC", "Birth of the region."),
      col("death_ns", "u64", "ns of CLOCK_MONOTONIC", "Death, or the end of the run."),
      col("birth_censored", "bool", "", "It was there before we looked."),
      col("death_censored", "bool", "", "It was still there at the end."),
      col("evidence", "string", "", "engine_probe, engine_graph, file, phase, rule, size or mapping."),
      col("confidence", "f32", "1", "0 to 1."),
      opt("candidates", "string", "", "JSON list of tensors that share an activation range."),
    ],
  },
  kv_block_lifecycle: {
    kind: "derived",
    doc: "Write, read and eviction of every KV row (one token, one layer, K or V). The first 8 columns are those of the Python package.",
    columns: [
      opt("block_id", "i64", "", "Number of the row, from 1."),
      opt("address", "i64", "address", "First byte of the row."),
      opt("address_page", "i64", "4 KiB pages", "address >> 12."),
      opt("write_ns", "i64", "ns of CLOCK_MONOTONIC", "When it was written."),
      opt("last_read_ns", "i64", "ns of CLOCK_MONOTONIC", "When it was last read; 0 for never."),
      opt("evict_ns", "i64", "ns of CLOCK_MONOTONIC", "When it was cleared, trimmed or freed."),
      opt("total_reads", "i64", "passes", "Read passes after the write."),
      opt("lifetime_ns", "i64", "ns", "Eviction, else last read, less the write."),
      PID,
      opt("layer", "i32", "", "Layer."),
      opt("tensor", "string", "", "Cache tensor."),
      opt("position", "i32", "tokens", "Position of the token; null unless one sequence is in the batch."),
      opt("size_bytes", "i64", "bytes", "Bytes of the row."),
      col("evidence", "string", "", "step (from the engine's steps) or watch (confirmed by traps on its bytes)."),
    ],
  },
  metrics: {
    kind: "derived",
    doc: "Every figure with its interval, method, sample count and loss: metrics.parquet, and `metrics` of --json.",
    columns: [
      col("metric", "string", "", "Name in docs/metrics.md."),
      col("region_type", "string", "", "Class of data, or all."),
      opt("mapping_kind", "string", "", "Kind of mapping, for processes without an engine."),
      col("phase", "string", "", "Phase, or all."),
      col("step", "string", "", "prefill, decode or all."),
      opt("grain_bytes", "u32", "bytes", "Grain of the figure."),
      col("source", "string", "", "Stream or source that it comes from."),
      col("unit", "string", "", "Unit of value, lo and hi."),
      opt("value", "f64", "see unit", "The estimate."),
      opt("lo", "f64", "see unit", "Lower end of the interval."),
      opt("hi", "f64", "see unit", "Upper end of the interval."),
      opt("ci_level", "f64", "1", "Level of the interval."),
      col("n", "u64", "samples", "Samples: watched addresses unless the method says otherwise."),
      col("n_censored", "u64", "samples", "Of them censored."),
      opt("coverage", "f64", "1", "Share of the class's bytes (or of the step's time) that the samples stand for."),
      col("window_ns", "u64", "ns", "Time that the figure covers."),
      col("method", "string", "", "Estimator and interval."),
      opt("label", "string", "", "Answer in words, where the metric is one."),
      col("status", "string", "", "ok, bound, insufficient or not_identifiable."),
      opt("why", "string", "", "Reason for any status but ok."),
      opt("lost_pct", "f64", "%", "Share of the source's events that were lost."),
    ],
  },
  observer_effect: {
    kind: "derived",
    doc: "observer_effect.parquet of `compare`: one row per arm and figure, against the arm `off`.",
    columns: [
      col("arm", "string", "", "off-again (the noise of the machine), or a way to trace."),
      col("figure", "string", "", "tokens_per_s, ttft_ms, token_p50_ms, token_p99_ms, wall_s or peak_rss_bytes."),
      col("unit", "string", "", "Unit of off and on."),
      col("blocks", "u32", "blocks", "Usable blocks: each has every arm twice, in mirrored order."),
      col("unusable", "u32", "blocks", "Blocks left out, as the figure was missing in a run."),
      opt("off", "f64", "see unit", "Geometric mean over the runs without a tracer."),
      opt("on", "f64", "see unit", "Geometric mean over the runs of the arm."),
      opt("slowdown_pct", "f64", "%", "How much worse: slower, later, larger. Mean of the blocks' log ratios."),
      opt("slowdown_lo_pct", "f64", "%", "Lower end of its two-sided 95 % BCa interval over blocks."),
      opt("slowdown_hi_pct", "f64", "%", "Upper end."),
      opt("lower_bound_pct", "f64", "%", "One-sided 95 % lower bound, for the verdict."),
      opt("upper_bound_pct", "f64", "%", "One-sided 95 % upper bound, for the verdict."),
      opt("hodges_lehmann_pct", "f64", "%", "The slowdown by Hodges-Lehmann, a check."),
      opt("wilcoxon_p", "f64", "1", "Two-sided p of the signed-rank test, a check."),
      opt("sd_pct", "f64", "%", "Standard deviation of the log ratios."),
      col("verdict", "string", "", "PASS, FAIL or INCONCLUSIVE against the margin, of this figure."),
      opt("why", "string", "", "Reason for INCONCLUSIVE."),
      opt("repeats_needed", "u32", "runs", "Runs of each arm with which a verdict can be expected."),
      col("arm_verdict", "string", "", "Verdict of the arm: that of its deciding figure."),
      opt(
        "events_kept",
        "f64",
        "rows",
        "Rows recorded, mean of the runs; those of the process stream only where it is alone.",
      ),
      opt("events_lost", "f64", "events", "Events dropped, mean of the runs."),
      opt("loss_pct", "f64", "%", "Share of the events that was dropped."),
      opt("capture_bytes_per_event", "f64", "bytes", "Size of the capture by row."),
      opt("tracer_cpu_pct", "f64", "% of one CPU", "CPU of the tracer and all that it started, while the target ran."),
      opt("tracer_rss_bytes", "f64", "bytes", "Peak memory of the same."),
      opt("cost_per_event_ns", "f64", "ns", "Wall time that the target lost, by row."),
      opt("cost_per_event_lo_ns", "f64", "ns", "Lower end of its 95 % interval."),
      opt("cost_per_event_hi_ns", "f64", "ns", "Upper end."),
    ],
  },
} as const satisfies Record<string, Table>;

export type TableName = keyof typeof TABLES;
/** Streams below capture/. */
export const STREAMS = [
  "mapping",
  "fault",
  "tensor",
  "step",
  "access",
  "watch",
  "process",
  "allocation",
  "allocation_stack",
  "allocation_memory",
  "allocation_site",
] as const;
export type StreamName = (typeof STREAMS)[number];

/** The columns of a table, in file order. */
export function columnsOf(table: TableName): readonly Column[] {
  return TABLES[table].columns;
}
