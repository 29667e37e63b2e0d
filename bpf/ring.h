/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Per-CPU single-producer rings of structure-of-arrays blocks.
 * One ring area per class of programs that cannot interrupt each other: the
 * columns are written without atomics. The reader sees a block when `head`
 * moves, and may read the open block up to `n`.
 */
#ifndef MRM_RING_H
#define MRM_RING_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "columns.gen.h"

/* Blocks per CPU, a power of two: 52 ms at 2.5 M rows/s. The reader learns it from the size of the map. */
#ifndef RING_BLOCKS
#define RING_BLOCKS 128
#endif

#define barrier() asm volatile("" ::: "memory")
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))

/* Maps of one ring area of so many blocks, a power of two; both are multiplied by the possible CPUs before load. */
#define RING_AREA_OF(name, block_type, blocks)          \
	enum { name##_blocks = blocks };                \
	struct {                                        \
		__uint(type, BPF_MAP_TYPE_ARRAY);       \
		__uint(map_flags, BPF_F_MMAPABLE);      \
		__uint(max_entries, 1);                 \
		__type(key, __u32);                     \
		__type(value, struct ring_control);     \
	} name##_ctl SEC(".maps");                      \
	struct {                                        \
		__uint(type, BPF_MAP_TYPE_ARRAY);       \
		__uint(map_flags, BPF_F_MMAPABLE);      \
		__uint(max_entries, name##_blocks);     \
		__type(key, __u32);                     \
		__type(value, struct block_type);       \
	} name##_ring SEC(".maps")

#define RING_AREA(name, block_type) RING_AREA_OF(name, block_type, RING_BLOCKS)

/*
 * Opens a row: sets `block` and `i`, or runs `on_drop` where there is no room.
 * RING_PUT(...) of every column must follow, then RING_COMMIT.
 */
#define RING_ROW(name, block_type, now, on_drop)                                          \
	__u32 ring_cpu = bpf_get_smp_processor_id();                                      \
	struct ring_control *ring_ctl = bpf_map_lookup_elem(&name##_ctl, &ring_cpu);      \
	if (!ring_ctl) {                                                                  \
		on_drop;                                                                  \
	}                                                                                 \
	ring_ctl->seq++;                                                                  \
	__u64 ring_head = ring_ctl->head;                                                 \
	if (ring_head - READ_ONCE(ring_ctl->tail) >= name##_blocks) {                     \
		ring_ctl->drop++;                                                         \
		on_drop;                                                                  \
	}                                                                                 \
	__u32 ring_slot = ring_cpu * name##_blocks + (ring_head & (name##_blocks - 1));   \
	struct block_type *block = bpf_map_lookup_elem(&name##_ring, &ring_slot);         \
	__u64 i = ring_ctl->n;                                                            \
	if (!block || i >= BLOCK_ROWS) {                                                  \
		ring_ctl->drop++;                                                         \
		on_drop;                                                                  \
	}                                                                                 \
	if (i == 0)                                                                       \
		block->header.t0 = now

#define RING_PUT(column, value) block->column[i] = (value)

/* Publishes the row, and the block when it is full: only a value-returning atomic orders the columns before head. */
#define RING_COMMIT()                                                                     \
	do {                                                                              \
		if (i + 1 < BLOCK_ROWS) {                                                 \
			barrier();                                                        \
			WRITE_ONCE(ring_ctl->n, i + 1);                                   \
		} else {                                                                  \
			block->header.n = BLOCK_ROWS;                                     \
			block->header.seq = ring_head;                                    \
			block->header.drop = ring_ctl->drop;                              \
			ring_ctl->n = 0;                                                  \
			__sync_lock_test_and_set(&ring_ctl->head, ring_head + 1);         \
		}                                                                         \
	} while (0)

#endif
