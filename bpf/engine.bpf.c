/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Probes on exported functions of inference engines. One program for every
 * entry and one for every return: the cookie is the number of a plan, which
 * says what to copy from where, and above 32 bits says where in the function
 * the probe is. Structures are copied raw; where their fields
 * are is known to the reader only. The exceptions are a batch that is passed
 * by value, whose arrays of positions, sequences and flags become runs here,
 * what an operand of a graph's node or a tensor of numbers holds, and the
 * blocks of a step's requests.
 *
 * uprobe programs are preemptible: they write to a ring buffer, never to a
 * staging block.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "targets.h"
#include "columns.gen.h"
#include "engine-batch.h"
#include "engine-blocks.h"
#include "engine-graph.h"
#include "engine-numbers.h"
#include "engine-rows.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What a probe copies, by the number in its cookie; user space writes an element before it attaches the probe. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENGINE_CAPTURES);
	__type(key, __u32);
	__type(value, struct engine_capture);
} engine_captures SEC(".maps");

/* Reads what a plan asks for. */
static __always_inline int copy(struct hit *hit, struct engine_capture *plan)
{
	if (plan->walks == ENGINE_WALK_BATCH)
		return record_batch(hit, plan);
	if (plan->walks == ENGINE_WALK_GRAPH)
		return record_graph(hit, plan);
	if (plan->walks == ENGINE_WALK_BLOCKS)
		return record_blocks(hit, plan);
	if (plan->walks == ENGINE_WALK_NUMBERS)
		return record_tensor(hit, plan);
	if (plan->walks == ENGINE_WALK_ROWS)
		return record_rows(hit, plan);
	switch (plan->room) {
	case 0:
		return record_parts(hit, plan, 0, 0);
	case ENGINE_ROOM_SMALL:
		return record_parts(hit, plan, ENGINE_ROOM_SMALL, ENGINE_START_SMALL);
	case ENGINE_ROOM_COMPACT:
		return record_parts(hit, plan, ENGINE_ROOM_COMPACT, ENGINE_START_COMPACT);
	case ENGINE_ROOM_MEDIUM:
		return record_parts(hit, plan, ENGINE_ROOM_MEDIUM, ENGINE_START_MEDIUM);
	default:
		return record_parts(hit, plan, ENGINE_ROOM_LARGE, ENGINE_START_LARGE);
	}
}

static __always_inline int record(struct pt_regs *ctx, bool is_return)
{
	__u64 ids = current_ids();
	struct target *target = target_of(ids >> 32);
	struct hit hit = { .timestamp_ns = bpf_ktime_get_ns(), .ids = ids, .is_return = is_return };
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct engine_capture *plan;
	__u32 *reader;
	int copied;

	COUNT(hits);
	if (cookie & ENGINE_COOKIE_STEPPED)
		COUNT(stepped);
	if (!target) {
		COUNT(foreign);
		return 0;
	}
	hit.exec_epoch = target->exec_epoch;
	hit.capture = (__u32)cookie;
	plan = bpf_map_lookup_elem(&engine_captures, &hit.capture);
	if (!plan)
		return 0;
	if (is_return) {
		hit.args[0] = RETURNED(ctx);
	} else {
		ARGS(ctx, hit.args);
		hit.stack_args = STACK_ARGS(ctx, cookie & ENGINE_COOKIE_REALIGNED);
		if (plan->go_registers)
			GO_ARGS(ctx, hit.args);
	}
	if (plan->only_value && hit.args[plan->only_argument & 7] != plan->only_value) {
		COUNT(unwanted);
		return 0;
	}
	reader = reader_of(target, (__u32)ids);
	mark_reader(reader, (__u32)ids);
	copied = copy(&hit, plan);
	mark_reader(reader, 0);
	return copied;
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
