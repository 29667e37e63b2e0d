/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Rows of whole numbers, of a tensor of ggml that an operation is given: each row of them where it lies. */
#ifndef MRM_ENGINE_ROWS_H
#define MRM_ENGINE_ROWS_H

#include "engine-record.h"

/* What is known of the rows while they are gone through. */
struct rows {
	__u64 node;
	__u64 data;
	__u64 stride;
	char *to;
	__u32 count;
	__u32 row_bytes;
	__u32 at;
	__u32 held;
};

static __always_inline long take_row(struct rows *w, __u32 index, const __u32 room)
{
	__u32 at = w->at, bytes = w->row_bytes;

	HOLD(at);
	HOLD(bytes);
	if (at > room - ENGINE_ROW_MOST_BYTES || bytes > ENGINE_ROW_MOST_BYTES || at + bytes > room ||
	    bpf_probe_read_user(w->to + at, bytes, (void *)(w->data + index * w->stride)))
		return 1;
	w->at = at + bytes;
	w->held++;
	return 0;
}

static long walk_short_rows(__u32 index, void *context)
{
	return take_row(context, index, ENGINE_ROWS_SHORT_BYTES);
}

static long walk_long_rows(__u32 index, void *context)
{
	return take_row(context, index, ENGINE_ROWS_LONG_BYTES);
}

static __always_inline int record_row_list(struct hit *hit, const struct engine_capture *plan, struct rows *w,
					   const __u32 room)
{
	struct engine_record *r = open_record(hit, sizeof(struct engine_rows) + room);

	if (!r)
		return 0;
	struct engine_rows *out = (struct engine_rows *)(r + 1);

	if (bpf_probe_read_user(out->name, sizeof(out->name), (void *)(w->node + plan->tensor_name)))
		r->unreadable = 1;
	w->to = (char *)(out + 1);
	if (w->count && room == ENGINE_ROWS_SHORT_BYTES)
		bpf_loop(w->count, walk_short_rows, w, 0);
	else if (w->count)
		bpf_loop(w->count, walk_long_rows, w, 0);
	out->row_bytes = w->row_bytes;
	out->rows = w->count;
	out->held = w->held;
	out->pad = 0;
	close_record(r);
	return 0;
}

/* Rows of numbers of 4 bytes; none where the operand is no such tensor. Fields hold what is read on the way: the stack is short. */
static __always_inline void find_rows(struct rows *w, const struct engine_capture *plan)
{
	__u64 pair[2] = {};
	__u32 count;

	if (bpf_probe_read_user(&w->data, sizeof(w->data), (void *)(w->node + plan->node_operand)) ||
	    bpf_probe_read_user(&w->held, sizeof(w->held), (void *)(w->data + plan->tensor_type)) ||
	    bpf_probe_read_user(pair, sizeof(pair), (void *)(w->data + plan->tensor_elements)))
		return;
	if (w->held != plan->narrow_type || !pair[0] || pair[0] > ENGINE_ROW_MOST_BYTES / 4 || pair[1] > MAX_BATCH_TOKENS)
		return;
	w->row_bytes = pair[0] * 4;
	count = pair[1];
	if (bpf_probe_read_user(pair, sizeof(pair), (void *)(w->data + plan->tensor_strides)) || pair[0] != 4 ||
	    bpf_probe_read_user(&w->data, sizeof(w->data), (void *)(w->data + plan->tensor_data)))
		return;
	w->stride = pair[1];
	w->count = count;
}

/* All threads of an operation make the call: the first of them tells of it. */
static __noinline int record_rows(struct hit *hit, const struct engine_capture *plan)
{
	struct rows w = { .node = hit->args[plan->numbers_argument & 7] };

	if (bpf_probe_read_user(&w.held, sizeof(w.held), (void *)hit->args[0]) || w.held) {
		COUNT(unwanted);
		return 0;
	}
	find_rows(&w, plan);
	w.held = 0;
	if (!w.count)
		w.row_bytes = 0;
	if (w.count * w.row_bytes <= ENGINE_ROWS_SHORT_BYTES - ENGINE_ROW_MOST_BYTES)
		return record_row_list(hit, plan, &w, ENGINE_ROWS_SHORT_BYTES);
	return record_row_list(hit, plan, &w, ENGINE_ROWS_LONG_BYTES);
}

#endif
