/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Probes on exported functions of inference engines. One program for every
 * entry and one for every return: the cookie is the number of a plan, which
 * says what to copy from where. Structures are copied raw; where their fields
 * are is known to the reader only. The one exception is a batch that is passed
 * by value, of which the positions and the sequences are reduced here.
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

/* What a probe copies, by the number in its cookie; user space writes an element before it attaches the probe. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENGINE_CAPTURES);
	__type(key, __u32);
	__type(value, struct engine_capture);
} engine_captures SEC(".maps");

struct walk {
	__u64 position;
	__u64 sequence_count;
	__u64 sequences;
	struct engine_batch_summary summary;
};

static long walk_token(__u32 index, void *context)
{
	struct walk *w = context;
	struct engine_batch_summary *s = &w->summary;
	__s32 position = 0, sequence = 0, n = 1;
	__u64 list = 0;

	if (w->position) {
		if (bpf_probe_read_user(&position, sizeof(position), (void *)(w->position + index * 4ull)))
			s->unreadable_tokens++;
		else if (!s->tokens_read || position < s->position_least)
			s->position_least = position;
		if (!s->tokens_read || position > s->position_greatest)
			s->position_greatest = position;
	}
	if (w->sequences && w->sequence_count) {
		if (bpf_probe_read_user(&n, sizeof(n), (void *)(w->sequence_count + index * 4ull)) ||
		    bpf_probe_read_user(&list, sizeof(list), (void *)(w->sequences + index * 8ull)))
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

/* The arrays of a batch that is passed by value. */
static __always_inline void walk_batch(struct pt_regs *ctx, const struct engine_capture *plan, struct walk *w)
{
	char *batch = STRUCT_ADDRESS(ctx);
	__s32 n = 0;

	if (bpf_probe_read_user(&n, sizeof(n), batch + plan->batch_tokens) ||
	    bpf_probe_read_user(&w->position, sizeof(w->position), batch + plan->batch_positions) ||
	    bpf_probe_read_user(&w->sequence_count, sizeof(w->sequence_count), batch + plan->batch_sequence_counts) ||
	    bpf_probe_read_user(&w->sequences, sizeof(w->sequences), batch + plan->batch_sequences))
		w->summary.unreadable_tokens++;
	else if (n > 0)
		bpf_loop(n < MAX_BATCH_TOKENS ? n : MAX_BATCH_TOKENS, walk_token, w, 0);
}

/* Keeps the compiler from reading a checked value again. */
#define HOLD(value) asm volatile("" : "+r"(value))

/*
 * Copies the parts of a plan into a record with `room` for them. A failed read leaves zeros, so the payload never holds
 * kernel bytes. The verifier adds the greatest place to the greatest length: the first part may take all the room, the
 * others begin in its first quarter and take three quarters at most. User space lays plans out so.
 */
static __always_inline int record_parts(struct pt_regs *ctx, struct hit *hit, const struct engine_capture *plan,
					struct walk *walk, const __u32 room)
{
	struct engine_record *r = open_record(hit, room);
	if (!r)
		return 0;
	char *payload = (char *)(r + 1);

#pragma unroll
	for (int i = 0; i < ENGINE_PARTS; i++) {
		if (i >= plan->parts)
			break;
		__u32 at = i ? plan->at[i] : 0;
		__u32 bytes = plan->bytes[i];
		__u32 most = i ? room - room / 4 : room;
		__u8 source = plan->source[i];
		__u8 form = plan->form[i];
		void *from = source == ENGINE_SOURCE_STRUCTURE ? STRUCT_ADDRESS(ctx) : (void *)hit->args[source & 3];
		long failed;

		HOLD(at);
		if (at > room / 4)
			break;
		if (form == ENGINE_FORM_BATCH) {
			if (room < sizeof(walk->summary) * 2)
				break;
			__builtin_memcpy(payload + at, &walk->summary, sizeof(walk->summary));
			failed = walk->summary.unreadable_tokens;
		} else {
			if (form == ENGINE_FORM_ARRAY) {
				__u64 wanted = (hit->args[plan->count_argument[i] & 3] & 0xffffffff) * plan->element_bytes[i];
				bytes = wanted < bytes ? wanted : bytes;
			}
			HOLD(bytes);
			if (bytes > most)
				break;
			failed = form == ENGINE_FORM_STRING ? bpf_probe_read_user_str(payload + at, bytes, from) < 0
							    : bpf_probe_read_user(payload + at, bytes, from);
		}
		if (failed)
			r->unreadable |= 1u << i;
	}
	close_record(r);
	return 0;
}

static __always_inline int record(struct pt_regs *ctx, bool is_return)
{
	__u64 ids = current_ids();
	struct target *target = target_of(ids >> 32);
	struct hit hit = { .timestamp_ns = bpf_ktime_get_ns(), .ids = ids, .is_return = is_return };
	struct engine_capture *plan;
	struct walk walk = {};

	COUNT(hits);
	if (!target) {
		COUNT(foreign);
		return 0;
	}
	hit.exec_epoch = target->exec_epoch;
	hit.capture = bpf_get_attach_cookie(ctx);
	if (is_return)
		hit.args[0] = RETURNED(ctx);
	else
		ARGS(ctx, hit.args);

	plan = bpf_map_lookup_elem(&engine_captures, &hit.capture);
	if (!plan)
		return 0;
	if (plan->walks)
		walk_batch(ctx, plan, &walk);
	switch (plan->room) {
	case 0:
		return record_parts(ctx, &hit, plan, &walk, 0);
	case ENGINE_ROOM_SMALL:
		return record_parts(ctx, &hit, plan, &walk, ENGINE_ROOM_SMALL);
	case ENGINE_ROOM_MEDIUM:
		return record_parts(ctx, &hit, plan, &walk, ENGINE_ROOM_MEDIUM);
	default:
		return record_parts(ctx, &hit, plan, &walk, ENGINE_ROOM_LARGE);
	}
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
