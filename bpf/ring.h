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

/* Blocks per CPU, as many of faults as fit: 46 ms at 2.5 M rows/s. The reader learns it from the size of the map. */
#ifndef RING_BLOCKS
#define RING_BLOCKS 112
#endif

#define barrier() asm volatile("" ::: "memory")
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))

/*
 * Shows the reader what was written before. x86 keeps the order of stores; elsewhere only a value-returning atomic does.
 * The reader loads with acquire.
 */
#if defined(__TARGET_ARCH_x86)
#define PUBLISH(word, value)                                                               \
	do {                                                                              \
		barrier();                                                                \
		WRITE_ONCE(word, value);                                                  \
	} while (0)
#else
#define PUBLISH(word, value) __sync_lock_test_and_set(&(word), value)
#endif

/* What an element of an array may have in older kernels (KMALLOC_MAX_SIZE). */
#define ELEMENT_BYTES (4 << 20)

/*
 * The map of one ring area of so many blocks; its entries are multiplied by the possible CPUs before load. Control and
 * blocks of a CPU are one element: a second lookup would cost a row a nanosecond.
 */
#define RING_AREA_OF(name, block_type, count)                                          \
	struct name##_area {                                                           \
		struct ring_control control;                                           \
		struct block_type blocks[count];                                       \
	};                                                                             \
	_Static_assert(sizeof(struct name##_area) <= ELEMENT_BYTES, #name "_area");    \
	struct {                                                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                      \
		__uint(map_flags, BPF_F_MMAPABLE);                                     \
		__uint(max_entries, 1);                                                \
		__type(key, __u32);                                                    \
		__type(value, struct name##_area);                                     \
	} name##_ring SEC(".maps")

#define RING_AREA(name, block_type) RING_AREA_OF(name, block_type, RING_BLOCKS)

/*
 * Opens a row: sets `block` and `i`, or runs `on_drop` where there is no room.
 * RING_PUT(...) of every column must follow, then RING_COMMIT.
 */
#define RING_ROW(name, now, on_drop)                                                      \
	__u32 ring_cpu = bpf_get_smp_processor_id();                                      \
	struct name##_area *ring = bpf_map_lookup_elem(&name##_ring, &ring_cpu);          \
	if (!ring) {                                                                      \
		on_drop;                                                                  \
	}                                                                                 \
	const __u64 ring_blocks = sizeof(ring->blocks) / sizeof(ring->blocks[0]);         \
	ring->control.seq++;                                                              \
	__u64 ring_head = ring->control.head;                                             \
	__u64 ring_slot = ring->control.slot;                                             \
	__u64 i = ring->control.n;                                                        \
	/* The last two never hold: the verifier asks. */                                 \
	if (ring_head - READ_ONCE(ring->control.tail) >= ring_blocks ||                   \
	    ring_slot >= ring_blocks || i >= BLOCK_ROWS) {                                \
		ring->control.drop++;                                                     \
		on_drop;                                                                  \
	}                                                                                 \
	typeof(&ring->blocks[0]) block = &ring->blocks[ring_slot];                        \
	if (i == 0)                                                                       \
		block->header.t0 = now

#define RING_PUT(column, value) block->column[i] = (value)

/* Publishes the row, and the block when it is full: only a value-returning atomic orders the columns before head. */
#define RING_COMMIT()                                                                     \
	do {                                                                              \
		if (i + 1 < BLOCK_ROWS) {                                                 \
			PUBLISH(ring->control.n, i + 1);                                  \
		} else {                                                                  \
			block->header.n = BLOCK_ROWS;                                     \
			block->header.seq = ring_head;                                    \
			block->header.drop = ring->control.drop;                          \
			ring->control.n = 0;                                              \
			ring->control.slot = ring_slot + 1 < ring_blocks ? ring_slot + 1 : 0; \
			__sync_lock_test_and_set(&ring->control.head, ring_head + 1);     \
		}                                                                         \
	} while (0)

#endif
