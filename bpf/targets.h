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

#endif
