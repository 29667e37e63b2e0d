/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Generated from src/schema by `bun run generate`; do not edit. */
#ifndef MRM_COLUMNS_GEN_H
#define MRM_COLUMNS_GEN_H

#define BLOCK_ROWS 1024

struct block_header {
	__u64 seq;     /* position of the block in its ring */
	__u64 n;       /* rows when closed */
	__u64 t0;      /* timestamp of the first row */
	__u64 drop;    /* rows refused on this ring when it closed */
	__u64 pad[4];
};

struct ring_control {
	__u64 head; /* blocks ever published */
	__u64 n;    /* rows in the open block */
	__u64 drop; /* rows refused: the ring was full */
	__u64 seq;  /* attempts, counted before anything can fail */
	__u64 slot; /* where the open block lies: head modulo the blocks of the ring */
	__u64 pad[3];
	__u64 tail; /* blocks released by the reader */
	__u64 pad2[7];
};
_Static_assert(sizeof(struct ring_control) == 128, "ring_control size");
_Static_assert(__builtin_offsetof(struct ring_control, tail) == 64, "ring_control.tail");

struct fault_block {
	struct block_header header;
	__u64 timestamp_ns[BLOCK_ROWS];
	__u64 address[BLOCK_ROWS];
	__u64 ip[BLOCK_ROWS];
	__u32 pid[BLOCK_ROWS];
	__u32 tid[BLOCK_ROWS];
	__u32 fault_flags[BLOCK_ROWS];
};
_Static_assert(sizeof(struct fault_block) == 36928, "fault_block size");
_Static_assert(__builtin_offsetof(struct fault_block, timestamp_ns) == 64, "fault.timestamp_ns");
_Static_assert(__builtin_offsetof(struct fault_block, address) == 8256, "fault.address");
_Static_assert(__builtin_offsetof(struct fault_block, ip) == 16448, "fault.ip");
_Static_assert(__builtin_offsetof(struct fault_block, pid) == 24640, "fault.pid");
_Static_assert(__builtin_offsetof(struct fault_block, tid) == 28736, "fault.tid");
_Static_assert(__builtin_offsetof(struct fault_block, fault_flags) == 32832, "fault.fault_flags");

struct trap_block {
	struct block_header header;
	__u64 timestamp_ns[BLOCK_ROWS];
	__u64 ip[BLOCK_ROWS];
	__u64 register_si[BLOCK_ROWS];
	__u64 register_di[BLOCK_ROWS];
	__u32 pid[BLOCK_ROWS];
	__u32 tid[BLOCK_ROWS];
	__u32 cookie[BLOCK_ROWS];
	__u32 trap_flags[BLOCK_ROWS];
};
_Static_assert(sizeof(struct trap_block) == 49216, "trap_block size");
_Static_assert(__builtin_offsetof(struct trap_block, timestamp_ns) == 64, "trap.timestamp_ns");
_Static_assert(__builtin_offsetof(struct trap_block, ip) == 8256, "trap.ip");
_Static_assert(__builtin_offsetof(struct trap_block, register_si) == 16448, "trap.register_si");
_Static_assert(__builtin_offsetof(struct trap_block, register_di) == 24640, "trap.register_di");
_Static_assert(__builtin_offsetof(struct trap_block, pid) == 32832, "trap.pid");
_Static_assert(__builtin_offsetof(struct trap_block, tid) == 36928, "trap.tid");
_Static_assert(__builtin_offsetof(struct trap_block, cookie) == 41024, "trap.cookie");
_Static_assert(__builtin_offsetof(struct trap_block, trap_flags) == 45120, "trap.trap_flags");

struct sample_block {
	struct block_header header;
	__u64 timestamp_ns[BLOCK_ROWS];
	__u64 address[BLOCK_ROWS];
	__u64 ip[BLOCK_ROWS];
	__u64 period[BLOCK_ROWS];
	__u64 data_src[BLOCK_ROWS];
	__u64 weight[BLOCK_ROWS];
	__u32 pid[BLOCK_ROWS];
	__u32 tid[BLOCK_ROWS];
	__u32 event[BLOCK_ROWS];
};
_Static_assert(sizeof(struct sample_block) == 61504, "sample_block size");
_Static_assert(__builtin_offsetof(struct sample_block, timestamp_ns) == 64, "sample.timestamp_ns");
_Static_assert(__builtin_offsetof(struct sample_block, address) == 8256, "sample.address");
_Static_assert(__builtin_offsetof(struct sample_block, ip) == 16448, "sample.ip");
_Static_assert(__builtin_offsetof(struct sample_block, period) == 24640, "sample.period");
_Static_assert(__builtin_offsetof(struct sample_block, data_src) == 32832, "sample.data_src");
_Static_assert(__builtin_offsetof(struct sample_block, weight) == 41024, "sample.weight");
_Static_assert(__builtin_offsetof(struct sample_block, pid) == 49216, "sample.pid");
_Static_assert(__builtin_offsetof(struct sample_block, tid) == 53312, "sample.tid");
_Static_assert(__builtin_offsetof(struct sample_block, event) == 57408, "sample.event");

struct tick_block {
	struct block_header header;
	__u64 timestamp_ns[BLOCK_ROWS];
	__u64 ip[BLOCK_ROWS];
	__u64 period[BLOCK_ROWS];
	__u64 ax[BLOCK_ROWS];
	__u64 cx[BLOCK_ROWS];
	__u64 dx[BLOCK_ROWS];
	__u64 bx[BLOCK_ROWS];
	__u64 sp[BLOCK_ROWS];
	__u64 bp[BLOCK_ROWS];
	__u64 si[BLOCK_ROWS];
	__u64 di[BLOCK_ROWS];
	__u64 r8[BLOCK_ROWS];
	__u64 r9[BLOCK_ROWS];
	__u64 r10[BLOCK_ROWS];
	__u64 r11[BLOCK_ROWS];
	__u64 r12[BLOCK_ROWS];
	__u64 r13[BLOCK_ROWS];
	__u64 r14[BLOCK_ROWS];
	__u64 r15[BLOCK_ROWS];
	__u64 fs_base[BLOCK_ROWS];
	__u64 gs_base[BLOCK_ROWS];
	__u32 pid[BLOCK_ROWS];
	__u32 tid[BLOCK_ROWS];
};
_Static_assert(sizeof(struct tick_block) == 180288, "tick_block size");
_Static_assert(__builtin_offsetof(struct tick_block, timestamp_ns) == 64, "tick.timestamp_ns");
_Static_assert(__builtin_offsetof(struct tick_block, ip) == 8256, "tick.ip");
_Static_assert(__builtin_offsetof(struct tick_block, period) == 16448, "tick.period");
_Static_assert(__builtin_offsetof(struct tick_block, ax) == 24640, "tick.ax");
_Static_assert(__builtin_offsetof(struct tick_block, cx) == 32832, "tick.cx");
_Static_assert(__builtin_offsetof(struct tick_block, dx) == 41024, "tick.dx");
_Static_assert(__builtin_offsetof(struct tick_block, bx) == 49216, "tick.bx");
_Static_assert(__builtin_offsetof(struct tick_block, sp) == 57408, "tick.sp");
_Static_assert(__builtin_offsetof(struct tick_block, bp) == 65600, "tick.bp");
_Static_assert(__builtin_offsetof(struct tick_block, si) == 73792, "tick.si");
_Static_assert(__builtin_offsetof(struct tick_block, di) == 81984, "tick.di");
_Static_assert(__builtin_offsetof(struct tick_block, r8) == 90176, "tick.r8");
_Static_assert(__builtin_offsetof(struct tick_block, r9) == 98368, "tick.r9");
_Static_assert(__builtin_offsetof(struct tick_block, r10) == 106560, "tick.r10");
_Static_assert(__builtin_offsetof(struct tick_block, r11) == 114752, "tick.r11");
_Static_assert(__builtin_offsetof(struct tick_block, r12) == 122944, "tick.r12");
_Static_assert(__builtin_offsetof(struct tick_block, r13) == 131136, "tick.r13");
_Static_assert(__builtin_offsetof(struct tick_block, r14) == 139328, "tick.r14");
_Static_assert(__builtin_offsetof(struct tick_block, r15) == 147520, "tick.r15");
_Static_assert(__builtin_offsetof(struct tick_block, fs_base) == 155712, "tick.fs_base");
_Static_assert(__builtin_offsetof(struct tick_block, gs_base) == 163904, "tick.gs_base");
_Static_assert(__builtin_offsetof(struct tick_block, pid) == 172096, "tick.pid");
_Static_assert(__builtin_offsetof(struct tick_block, tid) == 176192, "tick.tid");

#define FAULT_WRITE 1
#define FAULT_USER 2
#define FAULT_INSTRUCTION 4
#define FAULT_PROTECTION 8
#define FAULT_MAJOR_DONE 16
#define FAULT_OP_UNKNOWN 32

#define TRAP_IN_KERNEL 1
#define TRAP_STOPPED 2

#define ROLE_SINGLE 0
#define ROLE_PAIR_W 1
#define ROLE_PAIR_RW 2

#define WATCH_COOKIE_ROLE_MASK 3
#define WATCH_COOKIE_SLOT_SHIFT 2
#define WATCH_COOKIE_GENERATION_SHIFT 8

#define WATCH_SLOTS 64
#define WATCH_FOREIGN_LIMIT 8
#define WATCH_EARLY_LIMIT 64

#define TARGET_READERS 16

#define SAMPLE_COOKIE_EVENT_MASK 15
#define SAMPLE_COOKIE_OP_KNOWN 16

#define SAMPLE_EVENTS 16

#define ENGINE_CAPTURES 512
#define ENGINE_PARTS 4
#define ENGINE_FOLLOWS 3
#define ENGINE_ARGUMENTS 5
#define ENGINE_LEAST_RUNS 16
#define ENGINE_FEW_RUNS 128
#define ENGINE_MANY_RUNS 512
#define ENGINE_NODES 512
#define ENGINE_FEW_BLOCK_REQUESTS 16
#define ENGINE_FEW_BLOCK_RUNS 128
#define ENGINE_BLOCK_REQUESTS 256
#define ENGINE_BLOCK_RUNS 512
#define ENGINE_BLOCK_STEPS 32768
#define ENGINE_ROW_NAME_BYTES 32
#define ENGINE_ROW_MOST_BYTES 256
#define ENGINE_ROWS_SHORT_BYTES 640
#define ENGINE_ROWS_LONG_BYTES 24832

#define ENGINE_WALK_BATCH 1
#define ENGINE_WALK_GRAPH 2
#define ENGINE_WALK_BLOCKS 3
#define ENGINE_WALK_NUMBERS 4
#define ENGINE_WALK_ROWS 5

#define ENGINE_COOKIE_STEPPED 4294967296
#define ENGINE_COOKIE_REALIGNED 8589934592

#define ENGINE_SOURCE_STRUCTURE 8

#define ENGINE_FORM_BYTES 0
#define ENGINE_FORM_STRING 1
#define ENGINE_FORM_ARRAY 2

#define ENGINE_ROOM_SMALL 128
#define ENGINE_ROOM_COMPACT 256
#define ENGINE_ROOM_MEDIUM 512
#define ENGINE_ROOM_LARGE 1024

#define ENGINE_START_SMALL 32
#define ENGINE_START_COMPACT 128
#define ENGINE_START_MEDIUM 208
#define ENGINE_START_LARGE 256

enum lifecycle_kind {
	LIFECYCLE_MMAP = 0,
	LIFECYCLE_MUNMAP = 1,
	LIFECYCLE_MREMAP = 2,
	LIFECYCLE_BRK = 3,
	LIFECYCLE_MADVISE = 4,
	LIFECYCLE_MPROTECT = 5,
	LIFECYCLE_OTHER_CALL = 6,
	LIFECYCLE_FORK = 7,
	LIFECYCLE_EXEC = 8,
	LIFECYCLE_EXIT = 9,
};

struct pid_view {
	__u64 ns;
	__u32 level;
	__u32 pid;
};
_Static_assert(sizeof(struct pid_view) == 16, "pid_view size");
_Static_assert(__builtin_offsetof(struct pid_view, ns) == 0, "pid_view.ns");
_Static_assert(__builtin_offsetof(struct pid_view, level) == 8, "pid_view.level");
_Static_assert(__builtin_offsetof(struct pid_view, pid) == 12, "pid_view.pid");

struct target {
	__u32 exec_epoch;
	__u32 lost;
	__u32 lender;
	__u32 pad;
	__u32 reading[16];
};
_Static_assert(sizeof(struct target) == 80, "target size");
_Static_assert(__builtin_offsetof(struct target, exec_epoch) == 0, "target.exec_epoch");
_Static_assert(__builtin_offsetof(struct target, lost) == 4, "target.lost");
_Static_assert(__builtin_offsetof(struct target, lender) == 8, "target.lender");
_Static_assert(__builtin_offsetof(struct target, pad) == 12, "target.pad");
_Static_assert(__builtin_offsetof(struct target, reading) == 16, "target.reading");

struct lifecycle_record {
	__u64 begin_ns;
	__u64 end_ns;
	__u64 args[6];
	__s64 result;
	__u32 kind;
	__u32 pid;
	__u32 tid;
	__u32 exec_epoch;
};
_Static_assert(sizeof(struct lifecycle_record) == 88, "lifecycle_record size");
_Static_assert(__builtin_offsetof(struct lifecycle_record, begin_ns) == 0, "lifecycle_record.begin_ns");
_Static_assert(__builtin_offsetof(struct lifecycle_record, end_ns) == 8, "lifecycle_record.end_ns");
_Static_assert(__builtin_offsetof(struct lifecycle_record, args) == 16, "lifecycle_record.args");
_Static_assert(__builtin_offsetof(struct lifecycle_record, result) == 64, "lifecycle_record.result");
_Static_assert(__builtin_offsetof(struct lifecycle_record, kind) == 72, "lifecycle_record.kind");
_Static_assert(__builtin_offsetof(struct lifecycle_record, pid) == 76, "lifecycle_record.pid");
_Static_assert(__builtin_offsetof(struct lifecycle_record, tid) == 80, "lifecycle_record.tid");
_Static_assert(__builtin_offsetof(struct lifecycle_record, exec_epoch) == 84, "lifecycle_record.exec_epoch");

struct lifecycle_counters {
	__u64 seen;
	__u64 dropped_ring_full;
	__u64 dropped_call_table;
	__u64 dropped_target_table;
	__u64 returns_without_entry;
	__u64 advice_elsewhere;
	__u64 direct_opens;
	__u64 buffer_registrations;
	__u64 splices;
	__u64 process_copies;
};
_Static_assert(sizeof(struct lifecycle_counters) == 80, "lifecycle_counters size");
_Static_assert(__builtin_offsetof(struct lifecycle_counters, seen) == 0, "lifecycle_counters.seen");
_Static_assert(__builtin_offsetof(struct lifecycle_counters, dropped_ring_full) == 8, "lifecycle_counters.dropped_ring_full");
_Static_assert(__builtin_offsetof(struct lifecycle_counters, dropped_call_table) == 16, "lifecycle_counters.dropped_call_table");
_Static_assert(__builtin_offsetof(struct lifecycle_counters, dropped_target_table) == 24, "lifecycle_counters.dropped_target_table");
_Static_assert(__builtin_offsetof(struct lifecycle_counters, returns_without_entry) == 32, "lifecycle_counters.returns_without_entry");
_Static_assert(__builtin_offsetof(struct lifecycle_counters, advice_elsewhere) == 40, "lifecycle_counters.advice_elsewhere");
_Static_assert(__builtin_offsetof(struct lifecycle_counters, direct_opens) == 48, "lifecycle_counters.direct_opens");
_Static_assert(__builtin_offsetof(struct lifecycle_counters, buffer_registrations) == 56, "lifecycle_counters.buffer_registrations");
_Static_assert(__builtin_offsetof(struct lifecycle_counters, splices) == 64, "lifecycle_counters.splices");
_Static_assert(__builtin_offsetof(struct lifecycle_counters, process_copies) == 72, "lifecycle_counters.process_copies");

struct sample_count {
	__u64 runs;
	__u64 period;
	__u64 foreign;
	__u64 not_memory;
	__u64 kernel_address;
	__u64 throttled;
	__u64 unreadable;
	__u64 stopped_ns;
	__u64 stopped_at_ns;
	__u64 pad[7];
};
_Static_assert(sizeof(struct sample_count) == 128, "sample_count size");
_Static_assert(__builtin_offsetof(struct sample_count, runs) == 0, "sample_count.runs");
_Static_assert(__builtin_offsetof(struct sample_count, period) == 8, "sample_count.period");
_Static_assert(__builtin_offsetof(struct sample_count, foreign) == 16, "sample_count.foreign");
_Static_assert(__builtin_offsetof(struct sample_count, not_memory) == 24, "sample_count.not_memory");
_Static_assert(__builtin_offsetof(struct sample_count, kernel_address) == 32, "sample_count.kernel_address");
_Static_assert(__builtin_offsetof(struct sample_count, throttled) == 40, "sample_count.throttled");
_Static_assert(__builtin_offsetof(struct sample_count, unreadable) == 48, "sample_count.unreadable");
_Static_assert(__builtin_offsetof(struct sample_count, stopped_ns) == 56, "sample_count.stopped_ns");
_Static_assert(__builtin_offsetof(struct sample_count, stopped_at_ns) == 64, "sample_count.stopped_at_ns");
_Static_assert(__builtin_offsetof(struct sample_count, pad) == 72, "sample_count.pad");

struct tick_count {
	__u64 runs;
	__u64 period;
	__u64 foreign;
	__u64 in_kernel;
	__u64 other_mode;
	__u64 in_string;
	__u64 pad[2];
};
_Static_assert(sizeof(struct tick_count) == 64, "tick_count size");
_Static_assert(__builtin_offsetof(struct tick_count, runs) == 0, "tick_count.runs");
_Static_assert(__builtin_offsetof(struct tick_count, period) == 8, "tick_count.period");
_Static_assert(__builtin_offsetof(struct tick_count, foreign) == 16, "tick_count.foreign");
_Static_assert(__builtin_offsetof(struct tick_count, in_kernel) == 24, "tick_count.in_kernel");
_Static_assert(__builtin_offsetof(struct tick_count, other_mode) == 32, "tick_count.other_mode");
_Static_assert(__builtin_offsetof(struct tick_count, in_string) == 40, "tick_count.in_string");
_Static_assert(__builtin_offsetof(struct tick_count, pad) == 48, "tick_count.pad");

struct watch_slot {
	__u32 generation;
	__u32 pid;
	__u32 limit;
	__u32 armed;
	__u32 hits;
	__u32 foreign;
	__u32 kernel;
	__u32 early;
	__u64 foreign_stop_ns;
	__u64 addr;
	__u64 last_ip;
	__u64 last_si;
	__u64 last_di;
	__u32 last_tid;
	__u32 burst;
	__u32 continued;
	__u32 probed;
	__u64 probed_ns;
	__u32 pad[8];
};
_Static_assert(sizeof(struct watch_slot) == 128, "watch_slot size");
_Static_assert(__builtin_offsetof(struct watch_slot, generation) == 0, "watch_slot.generation");
_Static_assert(__builtin_offsetof(struct watch_slot, pid) == 4, "watch_slot.pid");
_Static_assert(__builtin_offsetof(struct watch_slot, limit) == 8, "watch_slot.limit");
_Static_assert(__builtin_offsetof(struct watch_slot, armed) == 12, "watch_slot.armed");
_Static_assert(__builtin_offsetof(struct watch_slot, hits) == 16, "watch_slot.hits");
_Static_assert(__builtin_offsetof(struct watch_slot, foreign) == 20, "watch_slot.foreign");
_Static_assert(__builtin_offsetof(struct watch_slot, kernel) == 24, "watch_slot.kernel");
_Static_assert(__builtin_offsetof(struct watch_slot, early) == 28, "watch_slot.early");
_Static_assert(__builtin_offsetof(struct watch_slot, foreign_stop_ns) == 32, "watch_slot.foreign_stop_ns");
_Static_assert(__builtin_offsetof(struct watch_slot, addr) == 40, "watch_slot.addr");
_Static_assert(__builtin_offsetof(struct watch_slot, last_ip) == 48, "watch_slot.last_ip");
_Static_assert(__builtin_offsetof(struct watch_slot, last_si) == 56, "watch_slot.last_si");
_Static_assert(__builtin_offsetof(struct watch_slot, last_di) == 64, "watch_slot.last_di");
_Static_assert(__builtin_offsetof(struct watch_slot, last_tid) == 72, "watch_slot.last_tid");
_Static_assert(__builtin_offsetof(struct watch_slot, burst) == 76, "watch_slot.burst");
_Static_assert(__builtin_offsetof(struct watch_slot, continued) == 80, "watch_slot.continued");
_Static_assert(__builtin_offsetof(struct watch_slot, probed) == 84, "watch_slot.probed");
_Static_assert(__builtin_offsetof(struct watch_slot, probed_ns) == 88, "watch_slot.probed_ns");
_Static_assert(__builtin_offsetof(struct watch_slot, pad) == 96, "watch_slot.pad");

struct watch_cost {
	__u64 traps;
	__u64 stale;
	__u64 foreign;
	__u64 early;
	__u64 beyond;
	__u64 stopped;
	__u64 stopped_w;
	__u64 probed;
};
_Static_assert(sizeof(struct watch_cost) == 64, "watch_cost size");
_Static_assert(__builtin_offsetof(struct watch_cost, traps) == 0, "watch_cost.traps");
_Static_assert(__builtin_offsetof(struct watch_cost, stale) == 8, "watch_cost.stale");
_Static_assert(__builtin_offsetof(struct watch_cost, foreign) == 16, "watch_cost.foreign");
_Static_assert(__builtin_offsetof(struct watch_cost, early) == 24, "watch_cost.early");
_Static_assert(__builtin_offsetof(struct watch_cost, beyond) == 32, "watch_cost.beyond");
_Static_assert(__builtin_offsetof(struct watch_cost, stopped) == 40, "watch_cost.stopped");
_Static_assert(__builtin_offsetof(struct watch_cost, stopped_w) == 48, "watch_cost.stopped_w");
_Static_assert(__builtin_offsetof(struct watch_cost, probed) == 56, "watch_cost.probed");

struct engine_record {
	__u64 timestamp_ns;
	__u64 args[5];
	__u32 pid;
	__u32 tid;
	__u16 capture;
	__u16 is_return;
	__u32 unreadable;
	__u32 exec_epoch;
	__u32 pad;
};
_Static_assert(sizeof(struct engine_record) == 72, "engine_record size");
_Static_assert(__builtin_offsetof(struct engine_record, timestamp_ns) == 0, "engine_record.timestamp_ns");
_Static_assert(__builtin_offsetof(struct engine_record, args) == 8, "engine_record.args");
_Static_assert(__builtin_offsetof(struct engine_record, pid) == 48, "engine_record.pid");
_Static_assert(__builtin_offsetof(struct engine_record, tid) == 52, "engine_record.tid");
_Static_assert(__builtin_offsetof(struct engine_record, capture) == 56, "engine_record.capture");
_Static_assert(__builtin_offsetof(struct engine_record, is_return) == 58, "engine_record.is_return");
_Static_assert(__builtin_offsetof(struct engine_record, unreadable) == 60, "engine_record.unreadable");
_Static_assert(__builtin_offsetof(struct engine_record, exec_epoch) == 64, "engine_record.exec_epoch");
_Static_assert(__builtin_offsetof(struct engine_record, pad) == 68, "engine_record.pad");

struct engine_capture {
	__u16 room;
	__u8 parts;
	__u8 walks;
	__u16 batch_tokens;
	__u16 batch_positions;
	__u16 batch_sequence_counts;
	__u16 batch_sequences;
	__u16 graph_count;
	__u16 graph_nodes;
	__u16 operation;
	__u16 node_operation;
	__u16 node_operand;
	__u16 node_owner;
	__u16 tensor_buffer;
	__u16 buffer_usage;
	__u16 passing_usage;
	__u16 tensor_type;
	__u16 tensor_elements;
	__u16 tensor_data;
	__u16 narrow_type;
	__u16 wide_type;
	__u8 query_argument;
	__u8 cache_argument;
	__u8 starts_argument;
	__u8 lengths_argument;
	__u16 window_place;
	__u16 blocks_place;
	__u16 torch_storage;
	__u16 torch_sizes;
	__u16 torch_strides;
	__u16 torch_offset;
	__u16 torch_data;
	__u8 go_registers;
	__u8 batch_flat;
	__u8 numbers_argument;
	__u8 first_only;
	__u8 only_argument;
	__u8 only_value;
	__u8 source[4];
	__u8 form[4];
	__u8 count_argument[4];
	__u16 at[4];
	__u16 bytes[4];
	__u16 element_bytes[4];
	__u8 follows[4];
	__u16 follow[12];
	__u16 skip[4];
	__u16 tensor_strides;
	__u16 tensor_name;
	__u16 batch_logits;
	__u16 pad;
};
_Static_assert(sizeof(struct engine_capture) == 144, "engine_capture size");
_Static_assert(__builtin_offsetof(struct engine_capture, room) == 0, "engine_capture.room");
_Static_assert(__builtin_offsetof(struct engine_capture, parts) == 2, "engine_capture.parts");
_Static_assert(__builtin_offsetof(struct engine_capture, walks) == 3, "engine_capture.walks");
_Static_assert(__builtin_offsetof(struct engine_capture, batch_tokens) == 4, "engine_capture.batch_tokens");
_Static_assert(__builtin_offsetof(struct engine_capture, batch_positions) == 6, "engine_capture.batch_positions");
_Static_assert(__builtin_offsetof(struct engine_capture, batch_sequence_counts) == 8, "engine_capture.batch_sequence_counts");
_Static_assert(__builtin_offsetof(struct engine_capture, batch_sequences) == 10, "engine_capture.batch_sequences");
_Static_assert(__builtin_offsetof(struct engine_capture, graph_count) == 12, "engine_capture.graph_count");
_Static_assert(__builtin_offsetof(struct engine_capture, graph_nodes) == 14, "engine_capture.graph_nodes");
_Static_assert(__builtin_offsetof(struct engine_capture, operation) == 16, "engine_capture.operation");
_Static_assert(__builtin_offsetof(struct engine_capture, node_operation) == 18, "engine_capture.node_operation");
_Static_assert(__builtin_offsetof(struct engine_capture, node_operand) == 20, "engine_capture.node_operand");
_Static_assert(__builtin_offsetof(struct engine_capture, node_owner) == 22, "engine_capture.node_owner");
_Static_assert(__builtin_offsetof(struct engine_capture, tensor_buffer) == 24, "engine_capture.tensor_buffer");
_Static_assert(__builtin_offsetof(struct engine_capture, buffer_usage) == 26, "engine_capture.buffer_usage");
_Static_assert(__builtin_offsetof(struct engine_capture, passing_usage) == 28, "engine_capture.passing_usage");
_Static_assert(__builtin_offsetof(struct engine_capture, tensor_type) == 30, "engine_capture.tensor_type");
_Static_assert(__builtin_offsetof(struct engine_capture, tensor_elements) == 32, "engine_capture.tensor_elements");
_Static_assert(__builtin_offsetof(struct engine_capture, tensor_data) == 34, "engine_capture.tensor_data");
_Static_assert(__builtin_offsetof(struct engine_capture, narrow_type) == 36, "engine_capture.narrow_type");
_Static_assert(__builtin_offsetof(struct engine_capture, wide_type) == 38, "engine_capture.wide_type");
_Static_assert(__builtin_offsetof(struct engine_capture, query_argument) == 40, "engine_capture.query_argument");
_Static_assert(__builtin_offsetof(struct engine_capture, cache_argument) == 41, "engine_capture.cache_argument");
_Static_assert(__builtin_offsetof(struct engine_capture, starts_argument) == 42, "engine_capture.starts_argument");
_Static_assert(__builtin_offsetof(struct engine_capture, lengths_argument) == 43, "engine_capture.lengths_argument");
_Static_assert(__builtin_offsetof(struct engine_capture, window_place) == 44, "engine_capture.window_place");
_Static_assert(__builtin_offsetof(struct engine_capture, blocks_place) == 46, "engine_capture.blocks_place");
_Static_assert(__builtin_offsetof(struct engine_capture, torch_storage) == 48, "engine_capture.torch_storage");
_Static_assert(__builtin_offsetof(struct engine_capture, torch_sizes) == 50, "engine_capture.torch_sizes");
_Static_assert(__builtin_offsetof(struct engine_capture, torch_strides) == 52, "engine_capture.torch_strides");
_Static_assert(__builtin_offsetof(struct engine_capture, torch_offset) == 54, "engine_capture.torch_offset");
_Static_assert(__builtin_offsetof(struct engine_capture, torch_data) == 56, "engine_capture.torch_data");
_Static_assert(__builtin_offsetof(struct engine_capture, go_registers) == 58, "engine_capture.go_registers");
_Static_assert(__builtin_offsetof(struct engine_capture, batch_flat) == 59, "engine_capture.batch_flat");
_Static_assert(__builtin_offsetof(struct engine_capture, numbers_argument) == 60, "engine_capture.numbers_argument");
_Static_assert(__builtin_offsetof(struct engine_capture, first_only) == 61, "engine_capture.first_only");
_Static_assert(__builtin_offsetof(struct engine_capture, only_argument) == 62, "engine_capture.only_argument");
_Static_assert(__builtin_offsetof(struct engine_capture, only_value) == 63, "engine_capture.only_value");
_Static_assert(__builtin_offsetof(struct engine_capture, source) == 64, "engine_capture.source");
_Static_assert(__builtin_offsetof(struct engine_capture, form) == 68, "engine_capture.form");
_Static_assert(__builtin_offsetof(struct engine_capture, count_argument) == 72, "engine_capture.count_argument");
_Static_assert(__builtin_offsetof(struct engine_capture, at) == 76, "engine_capture.at");
_Static_assert(__builtin_offsetof(struct engine_capture, bytes) == 84, "engine_capture.bytes");
_Static_assert(__builtin_offsetof(struct engine_capture, element_bytes) == 92, "engine_capture.element_bytes");
_Static_assert(__builtin_offsetof(struct engine_capture, follows) == 100, "engine_capture.follows");
_Static_assert(__builtin_offsetof(struct engine_capture, follow) == 104, "engine_capture.follow");
_Static_assert(__builtin_offsetof(struct engine_capture, skip) == 128, "engine_capture.skip");
_Static_assert(__builtin_offsetof(struct engine_capture, tensor_strides) == 136, "engine_capture.tensor_strides");
_Static_assert(__builtin_offsetof(struct engine_capture, tensor_name) == 138, "engine_capture.tensor_name");
_Static_assert(__builtin_offsetof(struct engine_capture, batch_logits) == 140, "engine_capture.batch_logits");
_Static_assert(__builtin_offsetof(struct engine_capture, pad) == 142, "engine_capture.pad");

struct engine_batch {
	__s32 n_tokens;
	__u16 has_positions;
	__u16 has_logits;
	__u32 runs;
	__u32 tokens_held;
};
_Static_assert(sizeof(struct engine_batch) == 16, "engine_batch size");
_Static_assert(__builtin_offsetof(struct engine_batch, n_tokens) == 0, "engine_batch.n_tokens");
_Static_assert(__builtin_offsetof(struct engine_batch, has_positions) == 4, "engine_batch.has_positions");
_Static_assert(__builtin_offsetof(struct engine_batch, has_logits) == 6, "engine_batch.has_logits");
_Static_assert(__builtin_offsetof(struct engine_batch, runs) == 8, "engine_batch.runs");
_Static_assert(__builtin_offsetof(struct engine_batch, tokens_held) == 12, "engine_batch.tokens_held");

struct engine_batch_run {
	__s32 position;
	__u32 tokens;
	__s32 sequence;
	__u16 sequences;
	__u16 asking;
	__u64 sequence_mask;
};
_Static_assert(sizeof(struct engine_batch_run) == 24, "engine_batch_run size");
_Static_assert(__builtin_offsetof(struct engine_batch_run, position) == 0, "engine_batch_run.position");
_Static_assert(__builtin_offsetof(struct engine_batch_run, tokens) == 4, "engine_batch_run.tokens");
_Static_assert(__builtin_offsetof(struct engine_batch_run, sequence) == 8, "engine_batch_run.sequence");
_Static_assert(__builtin_offsetof(struct engine_batch_run, sequences) == 12, "engine_batch_run.sequences");
_Static_assert(__builtin_offsetof(struct engine_batch_run, asking) == 14, "engine_batch_run.asking");
_Static_assert(__builtin_offsetof(struct engine_batch_run, sequence_mask) == 16, "engine_batch_run.sequence_mask");

struct engine_indexes {
	__u64 target;
	__u32 elements;
	__u32 runs;
	__u32 held;
	__u32 pad;
};
_Static_assert(sizeof(struct engine_indexes) == 24, "engine_indexes size");
_Static_assert(__builtin_offsetof(struct engine_indexes, target) == 0, "engine_indexes.target");
_Static_assert(__builtin_offsetof(struct engine_indexes, elements) == 8, "engine_indexes.elements");
_Static_assert(__builtin_offsetof(struct engine_indexes, runs) == 12, "engine_indexes.runs");
_Static_assert(__builtin_offsetof(struct engine_indexes, held) == 16, "engine_indexes.held");
_Static_assert(__builtin_offsetof(struct engine_indexes, pad) == 20, "engine_indexes.pad");

struct engine_rows {
	__u8 name[32];
	__u32 row_bytes;
	__u32 rows;
	__u32 held;
	__u32 pad;
};
_Static_assert(sizeof(struct engine_rows) == 48, "engine_rows size");
_Static_assert(__builtin_offsetof(struct engine_rows, name) == 0, "engine_rows.name");
_Static_assert(__builtin_offsetof(struct engine_rows, row_bytes) == 32, "engine_rows.row_bytes");
_Static_assert(__builtin_offsetof(struct engine_rows, rows) == 36, "engine_rows.rows");
_Static_assert(__builtin_offsetof(struct engine_rows, held) == 40, "engine_rows.held");
_Static_assert(__builtin_offsetof(struct engine_rows, pad) == 44, "engine_rows.pad");

struct engine_index_run {
	__u32 first;
	__u32 count;
};
_Static_assert(sizeof(struct engine_index_run) == 8, "engine_index_run size");
_Static_assert(__builtin_offsetof(struct engine_index_run, first) == 0, "engine_index_run.first");
_Static_assert(__builtin_offsetof(struct engine_index_run, count) == 4, "engine_index_run.count");

struct engine_blocks {
	__u32 tokens;
	__u32 requests;
	__u32 requests_held;
	__u32 runs;
	__u32 held;
	__u32 has_window;
};
_Static_assert(sizeof(struct engine_blocks) == 24, "engine_blocks size");
_Static_assert(__builtin_offsetof(struct engine_blocks, tokens) == 0, "engine_blocks.tokens");
_Static_assert(__builtin_offsetof(struct engine_blocks, requests) == 4, "engine_blocks.requests");
_Static_assert(__builtin_offsetof(struct engine_blocks, requests_held) == 8, "engine_blocks.requests_held");
_Static_assert(__builtin_offsetof(struct engine_blocks, runs) == 12, "engine_blocks.runs");
_Static_assert(__builtin_offsetof(struct engine_blocks, held) == 16, "engine_blocks.held");
_Static_assert(__builtin_offsetof(struct engine_blocks, has_window) == 20, "engine_blocks.has_window");

struct engine_block_request {
	__u32 tokens;
	__u32 length;
};
_Static_assert(sizeof(struct engine_block_request) == 8, "engine_block_request size");
_Static_assert(__builtin_offsetof(struct engine_block_request, tokens) == 0, "engine_block_request.tokens");
_Static_assert(__builtin_offsetof(struct engine_block_request, length) == 4, "engine_block_request.length");

struct engine_counts {
	__u64 hits;
	__u64 stepped;
	__u64 foreign;
	__u64 unwanted;
	__u64 ring_full;
	__u64 unreadable;
};
_Static_assert(sizeof(struct engine_counts) == 48, "engine_counts size");
_Static_assert(__builtin_offsetof(struct engine_counts, hits) == 0, "engine_counts.hits");
_Static_assert(__builtin_offsetof(struct engine_counts, stepped) == 8, "engine_counts.stepped");
_Static_assert(__builtin_offsetof(struct engine_counts, foreign) == 16, "engine_counts.foreign");
_Static_assert(__builtin_offsetof(struct engine_counts, unwanted) == 24, "engine_counts.unwanted");
_Static_assert(__builtin_offsetof(struct engine_counts, ring_full) == 32, "engine_counts.ring_full");
_Static_assert(__builtin_offsetof(struct engine_counts, unreadable) == 40, "engine_counts.unreadable");

#ifdef HEADER_MARK
static const char header_mark[] __attribute__((section("mrm.header"), used)) = HEADER_MARK;
#endif

#endif
