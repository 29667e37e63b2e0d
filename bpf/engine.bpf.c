/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Probes on exported functions of an inference engine. One program for every
 * entry and one for every return: the cookie says which probe it is and what
 * to copy. Structures are copied raw; where their fields are is known to the
 * reader only. The one exception is the batch of llama_decode, of which the
 * least position and the sequences are reduced here.
 *
 * uprobe programs are preemptible: they write to a ring buffer, never to a
 * staging block.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "targets.h"
#include "columns.gen.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define RING_BYTES (4 << 20)
#define MAX_BATCH_TOKENS 8192
#define MAX_TOKEN_SEQUENCES 8

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
/* System V: large structures by value lie on the stack, above the return address. */
#define STRUCT_ADDRESS(ctx) ((void *)((ctx)->sp + 8))
#define ARGS(ctx, to) ((to)[0] = (ctx)->di, (to)[1] = (ctx)->si, (to)[2] = (ctx)->dx, (to)[3] = (ctx)->cx)
#define RETURNED(ctx) ((ctx)->ax)
#else
/* AAPCS64: large structures by value are passed as a pointer to a copy, here the second argument. */
#define REGS(ctx) (((struct user_pt_regs *)(ctx))->regs)
#define STRUCT_ADDRESS(ctx) ((void *)REGS(ctx)[1])
#define ARGS(ctx, to) ((to)[0] = REGS(ctx)[0], (to)[1] = REGS(ctx)[1], (to)[2] = REGS(ctx)[2], (to)[3] = REGS(ctx)[3])
#define RETURNED(ctx) (REGS(ctx)[0])
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
	__u64 args[4];
	__u64 cookie;
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
	__u64 id = bpf_get_current_pid_tgid();
	r->timestamp_ns = hit->timestamp_ns;
	r->args[0] = hit->args[0];
	r->args[1] = hit->args[1];
	r->args[2] = hit->args[2];
	r->args[3] = hit->args[3];
	r->pid = id >> 32;
	r->tid = (__u32)id;
	r->probe = hit->cookie & ENGINE_COOKIE_PROBE_MASK;
	r->capture = (hit->cookie >> ENGINE_COOKIE_CAPTURE_SHIFT) & ENGINE_COOKIE_CAPTURE_MASK;
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

/* A failed read leaves zeros, so the payload never holds kernel bytes. */
#define TAKE(r, part, to, size, from)                                   \
	do {                                                            \
		if (bpf_probe_read_user((to), (size), (void *)(from)))  \
			(r)->unreadable |= 1u << (part);                \
	} while (0)

struct walk {
	struct engine_batch batch;
	struct engine_batch_summary summary;
};

static long walk_token(__u32 index, void *context)
{
	struct walk *w = context;
	struct engine_batch_summary *s = &w->summary;
	__s32 position = 0, sequence = 0, n = 1;
	__u64 list = 0;

	if (w->batch.position) {
		if (bpf_probe_read_user(&position, sizeof(position), (void *)(w->batch.position + index * 4ull)))
			s->unreadable_tokens++;
		else if (!s->tokens_read || position < s->position_least)
			s->position_least = position;
		if (!s->tokens_read || position > s->position_greatest)
			s->position_greatest = position;
	}
	if (w->batch.sequences && w->batch.sequence_count) {
		if (bpf_probe_read_user(&n, sizeof(n), (void *)(w->batch.sequence_count + index * 4ull)) ||
		    bpf_probe_read_user(&list, sizeof(list), (void *)(w->batch.sequences + index * 8ull)))
			s->unreadable_tokens++;
		for (int i = 0; i < MAX_TOKEN_SEQUENCES && i < n; i++) {
			if (bpf_probe_read_user(&sequence, sizeof(sequence), (void *)(list + i * 4ull))) {
				s->unreadable_tokens++;
				break;
			}
			if (!s->tokens_read && i == 0)
				s->sequence_first = sequence;
			if (sequence >= 0 && sequence < 64)
				s->sequence_mask |= 1ull << sequence;
			else
				s->sequences_beyond++;
		}
	} else {
		s->sequence_mask |= 1;
	}
	s->tokens_read++;
	return 0;
}

static __always_inline int record_batch(struct pt_regs *ctx, struct hit *hit)
{
	struct walk w = {};
	bool failed = bpf_probe_read_user(&w.batch, sizeof(w.batch), STRUCT_ADDRESS(ctx));

	if (!failed && w.batch.n_tokens > 0) {
		__u32 n = w.batch.n_tokens;
		bpf_loop(n < MAX_BATCH_TOKENS ? n : MAX_BATCH_TOKENS, walk_token, &w, 0);
	}
	struct engine_record *r = open_record(hit, sizeof(w));
	if (!r)
		return 0;
	if (failed)
		r->unreadable = 1;
	else if (w.summary.unreadable_tokens)
		r->unreadable = 2;
	__builtin_memcpy((void *)(r + 1), &w, sizeof(w));
	close_record(r);
	return 0;
}

static __always_inline int record(struct pt_regs *ctx, bool is_return)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct target *target = target_of(tgid);
	struct hit hit = { .timestamp_ns = bpf_ktime_get_ns(), .is_return = is_return };
	struct engine_record *r;

	COUNT(hits);
	if (!target) {
		COUNT(foreign);
		return 0;
	}
	hit.exec_epoch = target->exec_epoch;
	hit.cookie = bpf_get_attach_cookie(ctx);
	if (is_return)
		hit.args[0] = RETURNED(ctx);
	else
		ARGS(ctx, hit.args);

	switch ((hit.cookie >> ENGINE_COOKIE_CAPTURE_SHIFT) & ENGINE_COOKIE_CAPTURE_MASK) {
	case CAPTURE_TENSOR:
		r = open_record(&hit, PART_BYTES_TENSOR + PART_BYTES_BUFFER);
		if (!r)
			return 0;
		TAKE(r, 0, (void *)(r + 1), PART_BYTES_TENSOR, hit.args[1]);
		TAKE(r, 1, (char *)(r + 1) + PART_BYTES_TENSOR, PART_BYTES_BUFFER, hit.args[0]);
		break;
	case CAPTURE_BUFFER:
		r = open_record(&hit, PART_BYTES_BUFFER);
		if (!r)
			return 0;
		TAKE(r, 0, (void *)(r + 1), PART_BYTES_BUFFER, hit.args[0]);
		break;
	case CAPTURE_PATH:
		r = open_record(&hit, PART_BYTES_PATH);
		if (!r)
			return 0;
		if (bpf_probe_read_user_str((void *)(r + 1), PART_BYTES_PATH, (void *)hit.args[0]) < 0)
			r->unreadable = 1;
		break;
	case CAPTURE_BATCH:
		return record_batch(ctx, &hit);
	case CAPTURE_PARAMS:
		r = open_record(&hit, PART_BYTES_PARAMS);
		if (!r)
			return 0;
		TAKE(r, 0, (void *)(r + 1), PART_BYTES_PARAMS, STRUCT_ADDRESS(ctx));
		break;
	case CAPTURE_GRAPH:
		r = open_record(&hit, PART_BYTES_GRAPH);
		if (!r)
			return 0;
		TAKE(r, 0, (void *)(r + 1), PART_BYTES_GRAPH, hit.args[0]);
		break;
	default:
		r = open_record(&hit, 0);
		if (!r)
			return 0;
	}
	close_record(r);
	return 0;
}

SEC("uprobe")
int engine_entry(struct pt_regs *ctx)
{
	return record(ctx, false);
}

SEC("uretprobe")
int engine_return(struct pt_regs *ctx)
{
	return record(ctx, true);
}
