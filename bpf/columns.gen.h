/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Generated from src/schema/columns.ts by `bun run generate`; do not edit. */
#ifndef MRM_COLUMNS_GEN_H
#define MRM_COLUMNS_GEN_H

#define BLOCK_ROWS 256

struct block_header {
	__u64 seq;     /* position of the block in its ring */
	__u64 n;       /* rows when closed */
	__u64 t0;      /* timestamp of the first row */
	__u64 drop;    /* rows refused on this ring when it closed */
	__u64 pad[4];
};

struct fault_block {
	struct block_header header;
	__u64 timestamp_ns[BLOCK_ROWS];
	__u64 address[BLOCK_ROWS];
	__u64 ip[BLOCK_ROWS];
	__u32 pid[BLOCK_ROWS];
	__u32 tid[BLOCK_ROWS];
	__u32 fault_flags[BLOCK_ROWS];
};
_Static_assert(sizeof(struct fault_block) == 9280, "fault_block size");
_Static_assert(__builtin_offsetof(struct fault_block, timestamp_ns) == 64, "fault.timestamp_ns");
_Static_assert(__builtin_offsetof(struct fault_block, address) == 2112, "fault.address");
_Static_assert(__builtin_offsetof(struct fault_block, ip) == 4160, "fault.ip");
_Static_assert(__builtin_offsetof(struct fault_block, pid) == 6208, "fault.pid");
_Static_assert(__builtin_offsetof(struct fault_block, tid) == 7232, "fault.tid");
_Static_assert(__builtin_offsetof(struct fault_block, fault_flags) == 8256, "fault.fault_flags");

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
_Static_assert(sizeof(struct trap_block) == 12352, "trap_block size");
_Static_assert(__builtin_offsetof(struct trap_block, timestamp_ns) == 64, "trap.timestamp_ns");
_Static_assert(__builtin_offsetof(struct trap_block, ip) == 2112, "trap.ip");
_Static_assert(__builtin_offsetof(struct trap_block, register_si) == 4160, "trap.register_si");
_Static_assert(__builtin_offsetof(struct trap_block, register_di) == 6208, "trap.register_di");
_Static_assert(__builtin_offsetof(struct trap_block, pid) == 8256, "trap.pid");
_Static_assert(__builtin_offsetof(struct trap_block, tid) == 9280, "trap.tid");
_Static_assert(__builtin_offsetof(struct trap_block, cookie) == 10304, "trap.cookie");
_Static_assert(__builtin_offsetof(struct trap_block, trap_flags) == 11328, "trap.trap_flags");

#endif
