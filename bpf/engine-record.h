/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A record of one hit of a probe: where its arguments are, the ring, and what a plan says to copy into it. */
#ifndef MRM_ENGINE_RECORD_H
#define MRM_ENGINE_RECORD_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "columns.gen.h"

/*
 * A server of two slots writes some 7 MB/s at 7,000 tokens/s: 1.1 s of them, while a recorder may lack a CPU, or be busy with its first
 * look at a large process.
 */
#define RING_BYTES (8 << 20)
/* As many tokens of a batch as are gone through; a program may hand over a whole long context at once. */
#define MAX_BATCH_TOKENS (1 << 17)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct engine_counts);
} engine_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} engine_ring SEC(".maps");

#if defined(__TARGET_ARCH_x86)
/*
 * System V: large structures by value lie on the stack, above the return address. A function that aligns its stack anew has
 * their address in r10 before it does.
 */
#define STACK_ARGS(ctx, realigned) ((char *)((realigned) ? (ctx)->r10 : (ctx)->sp + 8))
#define ARGS(ctx, to)                                                                                     \
	((to)[0] = (ctx)->di, (to)[1] = (ctx)->si, (to)[2] = (ctx)->dx, (to)[3] = (ctx)->cx, (to)[4] = (ctx)->r8, \
	 (to)[5] = (ctx)->r9)
#define RETURNED(ctx) ((ctx)->ax)
/* Go's own convention (ABIInternal): ax, bx, cx, di, si, r8; of the registers in `to`, those that are the same are moved. */
#define GO_ARGS(ctx, to)                                                                                 \
	((to)[5] = (to)[4], (to)[4] = (to)[1], (to)[2] = (to)[3], (to)[3] = (to)[0], (to)[0] = (ctx)->ax, \
	 (to)[1] = (ctx)->bx)
#else
/* AAPCS64: large structures by value are passed as a pointer to a copy, here the second argument. */
#define REGS(ctx) (((struct user_pt_regs *)(ctx))->regs)
#define STACK_ARGS(ctx, realigned) ((char *)REGS(ctx)[1])
#define ARGS(ctx, to)                                                                           \
	((to)[0] = REGS(ctx)[0], (to)[1] = REGS(ctx)[1], (to)[2] = REGS(ctx)[2], (to)[3] = REGS(ctx)[3], \
	 (to)[4] = REGS(ctx)[4], (to)[5] = REGS(ctx)[5])
#define RETURNED(ctx) (REGS(ctx)[0])
#define GO_ARGS(ctx, to) ((void)(to))
#endif

static __always_inline struct engine_counts *counts(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&engine_counts, &zero);
}

#define COUNT(field)                                              \
	do {                                                      \
		struct engine_counts *c_ = counts();              \
		if (c_)                                           \
			__sync_fetch_and_add(&c_->field, 1);      \
	} while (0)

struct hit {
	__u64 timestamp_ns;
	/* Of which a record has the first; a power of two, so that a number from a plan finds one. */
	__u64 args[8];
	/* Where arguments lie that are in no register. */
	char *stack_args;
	__u64 ids;
	__u32 capture;
	__u32 is_return;
	__u32 exec_epoch;
};

static __always_inline struct engine_record *open_record(struct hit *hit, __u32 payload_bytes)
{
	struct engine_record *r = bpf_ringbuf_reserve(&engine_ring, sizeof(*r) + payload_bytes, 0);
	if (!r) {
		COUNT(ring_full);
		return 0;
	}
	r->timestamp_ns = hit->timestamp_ns;
	r->args[0] = hit->args[0];
	r->args[1] = hit->args[1];
	r->args[2] = hit->args[2];
	r->args[3] = hit->args[3];
	r->args[4] = hit->args[4];
	r->pid = hit->ids >> 32;
	r->tid = (__u32)hit->ids;
	r->capture = hit->capture;
	r->is_return = hit->is_return;
	r->unreadable = 0;
	r->exec_epoch = hit->exec_epoch;
	r->pad = 0;
	return r;
}

static __always_inline void close_record(struct engine_record *r)
{
	if (r->unreadable)
		COUNT(unreadable);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* Keeps the compiler from reading a checked value again. */
#define HOLD(value) asm volatile("" : "+r"(value))

/* What the pointers of a part lead to; 0 where one cannot be read, which no read of the part survives. */
static __noinline void *followed(const struct engine_capture *plan, int part, void *from)
{
#pragma unroll
	for (int k = 0; k < ENGINE_FOLLOWS; k++) {
		__u64 next = 0;

		if (k >= plan->follows[part])
			break;
		if (bpf_probe_read_user(&next, sizeof(next), from + plan->follow[part * ENGINE_FOLLOWS + k]))
			return 0;
		from = (void *)next;
	}
	return from;
}

/*
 * Copies the parts of a plan into a record with `room` for them. A failed read leaves zeros, so the payload never holds
 * kernel bytes. The verifier adds the greatest place to the greatest length: the first part may take all the room, the
 * others begin at `latest` or before, and take what is behind it at most. User space lays plans out so.
 */
static __always_inline void copy_parts(struct hit *hit, const struct engine_capture *plan,
				       struct engine_record *r, const __u32 room, const __u32 latest)
{
	char *payload = (char *)(r + 1);

#pragma unroll
	for (int i = 0; i < ENGINE_PARTS; i++) {
		if (i >= plan->parts)
			break;
		__u32 at = i ? plan->at[i] : 0;
		__u32 bytes = plan->bytes[i];
		__u32 most = i ? room - latest : room;
		__u8 source = plan->source[i];
		__u8 form = plan->form[i];
		void *from = source == ENGINE_SOURCE_STRUCTURE ? hit->stack_args : (void *)hit->args[source & 7];
		long failed;

		from = followed(plan, i, from) + plan->skip[i];
		HOLD(at);
		if (at > latest)
			break;
		if (form == ENGINE_FORM_ARRAY) {
			__u64 wanted = (hit->args[plan->count_argument[i] & 3] & 0xffffffff) * plan->element_bytes[i];
			bytes = wanted < bytes ? wanted : bytes;
		}
		HOLD(bytes);
		if (bytes > most)
			break;
		failed = form == ENGINE_FORM_STRING ? bpf_probe_read_user_str(payload + at, bytes, from) < 0
						    : bpf_probe_read_user(payload + at, bytes, from);
		if (failed)
			r->unreadable |= 1u << i;
	}
}

static __always_inline int record_parts(struct hit *hit, const struct engine_capture *plan,
					const __u32 room, const __u32 latest)
{
	struct engine_record *r = open_record(hit, room);

	if (!r)
		return 0;
	copy_parts(hit, plan, r, room, latest);
	close_record(r);
	return 0;
}

#endif
