/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The processes that we watch; kept by the lifecycle programs, shared with every other object. */
#ifndef MRM_TARGETS_H
#define MRM_TARGETS_H

#include "ids.h"

#define MAX_TARGETS 16384

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_TARGETS);
	__type(key, __u32);
	__type(value, struct target);
} targets SEC(".maps");

static __always_inline struct target *target_of(__u32 tgid)
{
	return bpf_map_lookup_elem(&targets, &tgid);
}

/* The process that has the address space in which this one lives. */
static __always_inline __u32 owner_of(struct target *target, __u32 tgid)
{
	return target->lender ? target->lender : tgid;
}

/*
 * What a probe of ours reads of its process traps where it is watched, as if the process had read it. So the thread says
 * when it reads for us: not the CPU, which may pass to another thread meanwhile. Of two threads with one place, which is
 * rare, the later one is known, until either is done: no mark outlasts the programs that set it.
 */
static __always_inline __u32 *reader_of(struct target *target, __u32 tid)
{
	return &target->reading[tid & (TARGET_READERS - 1)];
}

static __always_inline void mark_reader(__u32 *reader, __u32 tid)
{
	*(volatile __u32 *)reader = tid;
}

static __always_inline int reads_for_us(__u64 ids)
{
	struct target *target = target_of(ids >> 32);

	return target && *(volatile __u32 *)reader_of(target, (__u32)ids) == (__u32)ids;
}

#endif
