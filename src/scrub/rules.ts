/** THE allow-list of a scrubbed run: what becomes of each column of each stream; what has no rule is not written. */
import type { StreamName } from "../schema/columns.ts";
import type { ColumnOf } from "../schema/row.ts";

/**
 * keep: a number that is of nobody. word: one of the words of the column. time: from zero. since_boot: from the least of
 * the run. address: moved with its region. process: the number of a process or thread, told anew. result: one of these,
 * as the row's kind says. identity: a number of the machine by its keyed hash. The others are texts, see `Pseudonyms`.
 * drop: null.
 */
export type Rule =
  | "keep"
  | "word"
  | "time"
  | "since_boot"
  | "address"
  | "process"
  | "result"
  | "identity"
  | "path"
  | "name"
  | "request"
  | "tensor"
  | "logical_id"
  | "storage_type"
  | "shape"
  | "stratum"
  | "engine"
  | "allocator"
  | "detail"
  | "drop";

type Rules = { readonly [S in StreamName]: { readonly [N in ColumnOf<S>["name"]]: Rule } };

/** A column that the table gets does not compile until it is said here what becomes of it. */
export const RULES: Rules = {
  mapping: {
    timestamp_ns: "time",
    pid: "process",
    tid: "process",
    exec_epoch: "keep",
    kind: "word",
    addr: "address",
    size_bytes: "keep",
    old_addr: "address",
    old_size_bytes: "keep",
    prot: "keep",
    flags: "keep",
    file_offset_bytes: "keep",
    dev: "identity",
    inode: "identity",
    path: "path",
    result: "result",
    child_pid: "process",
    begin_ns: "time",
    end_ns: "time",
  },
  fault: {
    timestamp_ns: "time",
    address: "address",
    ip: "address",
    pid: "process",
    tid: "process",
    fault_flags: "keep",
    cpu: "keep",
  },
  tensor: {
    timestamp_ns: "time",
    pid: "process",
    tid: "process",
    engine: "engine",
    kind: "word",
    name: "tensor",
    tensor_type: "storage_type",
    addr: "address",
    size_bytes: "keep",
    shape: "shape",
    buffer: "address",
    buffer_addr: "address",
    buffer_size_bytes: "keep",
    usage: "word",
    region_type: "word",
    layer: "keep",
    logical_id: "logical_id",
    kv_layout: "word",
    kv_row_bytes: "keep",
    kv_block_tokens: "keep",
    kv_block_bytes: "keep",
    evidence: "word",
  },
  step: {
    timestamp_ns: "time",
    end_ns: "time",
    pid: "process",
    tid: "process",
    engine: "engine",
    kind: "word",
    n_tokens: "keep",
    n_sequences: "keep",
    position_first: "keep",
    sequence_id: "keep",
    result: "result",
    detail: "detail",
  },
  request: {
    timestamp_ns: "time",
    pid: "process",
    request_id: "keep",
    request: "request",
    status: "word",
    http_status: "keep",
    first_token_ns: "time",
    last_token_ns: "time",
    end_ns: "time",
    streamed_tokens: "keep",
    token_gap_p50_ns: "keep",
    token_gap_p99_ns: "keep",
    token_gap_max_ns: "keep",
    prompt_tokens: "keep",
    evaluated_tokens: "keep",
    output_tokens: "keep",
    output_ns: "keep",
    sequence_id: "keep",
  },
  access: {
    timestamp_ns: "time",
    address: "address",
    op_type: "word",
    ip: "address",
    pid: "process",
    tid: "process",
    cpu: "keep",
    source: "word",
    period: "keep",
    watch_id: "keep",
    in_kernel: "keep",
    op_evidence: "word",
    data_src: "keep",
    weight_cycles: "keep",
  },
  watch: {
    timestamp_ns: "time",
    end_ns: "time",
    watch_id: "keep",
    pid: "process",
    addr: "address",
    size_bytes: "keep",
    mode: "word",
    design: "word",
    stratum: "stratum",
    region_type: "word",
    tensor: "tensor",
    stratum_bytes: "keep",
    inclusion_probability: "keep",
    draw_weight: "keep",
    trap_limit: "keep",
    dwell_limit_ns: "keep",
    n_hits: "keep",
    n_foreign: "keep",
    n_kernel: "keep",
    ended_by: "word",
    n_registers: "keep",
    n_accesses: "keep",
  },
  process: {
    timestamp_ns: "time",
    pid: "process",
    role: "word",
    rss_bytes: "keep",
    rss_anon_bytes: "keep",
    rss_file_bytes: "keep",
    rss_shmem_bytes: "keep",
    rss_peak_bytes: "keep",
    pss_bytes: "keep",
    vms_bytes: "keep",
    cpu_user_ns: "keep",
    cpu_system_ns: "keep",
    minor_faults: "keep",
    major_faults: "keep",
    threads: "keep",
    read_bytes: "keep",
    write_bytes: "keep",
    run_delay_ns: "keep",
    waiter_cpu_ns: "keep",
    busy_threads: "keep",
    psi_cpu_some_ns: "since_boot",
    psi_memory_some_ns: "since_boot",
    mem_available_bytes: "keep",
    temperature_c: "keep",
    core_throttle_events: "since_boot",
    package_throttle_events: "since_boot",
    throttled_ns: "since_boot",
    cpu_freq_min_mhz: "keep",
    cpu_freq_mean_mhz: "keep",
    cpu_freq_max_mhz: "keep",
    steal_ns: "since_boot",
    machine_busy_ns: "since_boot",
  },
  residency: {
    timestamp_ns: "time",
    end_ns: "time",
    look: "keep",
    pid: "process",
    kind: "word",
    addr: "address",
    size_bytes: "keep",
  },
  allocation: {
    timestamp_ns: "time",
    birth_error_ns: "keep",
    death_ns: "time",
    death_error_ns: "keep",
    pid: "process",
    thread: "keep",
    thread_name: "name",
    addr: "address",
    size_bytes: "keep",
    allocator: "allocator",
    ended_by: "word",
    stack_id: "keep",
    native_stack_id: "keep",
    birth_order: "keep",
    death_order: "keep",
  },
  allocation_stack: {
    timestamp_ns: "time",
    pid: "process",
    kind: "word",
    stack_id: "keep",
    parent_id: "keep",
    function: "name",
    file: "path",
    line: "drop",
    ip: "address",
    // It tells which build of which library it was.
    object_offset_bytes: "drop",
  },
  allocation_memory: {
    timestamp_ns: "time",
    error_ns: "keep",
    pid: "process",
    rss_bytes: "keep",
    live_bytes: "keep",
    live_allocations: "keep",
  },
  allocation_site: {
    timestamp_ns: "time",
    pid: "process",
    thread: "keep",
    thread_name: "name",
    allocator: "allocator",
    stack_id: "keep",
    native_stack_id: "keep",
    peak_allocations: "keep",
    peak_bytes: "keep",
    leaked_allocations: "keep",
    leaked_bytes: "keep",
  },
  allocation_total: {
    timestamp_ns: "time",
    error_ns: "keep",
    pid: "process",
    allocator: "allocator",
    allocations: "keep",
    allocated_bytes: "keep",
    peak_bytes: "keep",
    live_allocations: "keep",
    live_bytes: "keep",
  },
};

/** The column that says how many bytes lie behind an address: they are moved together. */
export const LENGTH_OF: Readonly<Record<string, string>> = {
  addr: "size_bytes",
  old_addr: "old_size_bytes",
  buffer_addr: "buffer_size_bytes",
  result: "size_bytes",
};

/** Kinds of rows whose result is an address, and whose is a process. */
export const RESULT_IS: Readonly<Record<string, "address" | "process">> = {
  mmap: "address",
  mremap: "address",
  brk: "address",
  other_call: "address",
  model_load: "address",
  context: "address",
  fork: "process",
};
