/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Whole numbers that lie one behind the other, as runs; those of a tensor of torch, which a reference leads to. */
#ifndef MRM_ENGINE_NUMBERS_H
#define MRM_ENGINE_NUMBERS_H

#include "engine-record.h"

/* The tensor of torch that a reference leads to, and the first of its elements; not 0 where it cannot be read. */
static __always_inline int open_tensor(const struct engine_capture *plan, __u64 reference, __u32 element_bytes,
				       __u64 *tensor, __u64 *data)
{
	__u64 storage = 0, offset = 0;

	if (bpf_probe_read_user(tensor, sizeof(*tensor), (void *)reference) ||
	    bpf_probe_read_user(&storage, sizeof(storage), (void *)(*tensor + plan->torch_storage)) ||
	    bpf_probe_read_user(&offset, sizeof(offset), (void *)(*tensor + plan->torch_offset)) ||
	    bpf_probe_read_user(data, sizeof(*data), (void *)(storage + plan->torch_data)))
		return 1;
	*data += offset * element_bytes;
	return 0;
}

/* Numbers in memory of the program, and what is known of them while they are gone through; the last run is here as well. */
struct numbers {
	__u64 target;
	__u64 data;
	struct engine_index_run *runs;
	struct engine_index_run last;
	__u32 elements;
	__u32 wide;
	__u32 n_runs;
	__u32 held;
};

static __always_inline long take_number(struct numbers *n, __u32 index, const __u32 most)
{
	__u64 number = 0;
	__u32 run = n->n_runs;

	if (n->wide ? bpf_probe_read_user(&number, 8, (void *)(n->data + index * 8ull))
		    : bpf_probe_read_user(&number, 4, (void *)(n->data + index * 4ull)))
		return 1;
	if (number >> 32)
		return 1;
	if (run && number == (__u64)n->last.first + n->last.count) {
		run--;
		n->last.count++;
	} else {
		n->last.first = number;
		n->last.count = 1;
	}
	if (run >= most)
		return 1;
	n->runs[run] = n->last;
	n->n_runs = run + 1;
	n->held++;
	return 0;
}

static long walk_few_numbers(__u32 index, void *context)
{
	return take_number(context, index, ENGINE_FEW_RUNS);
}

static long walk_many_numbers(__u32 index, void *context)
{
	return take_number(context, index, ENGINE_MANY_RUNS);
}

static long walk_least_numbers(__u32 index, void *context)
{
	return take_number(context, index, ENGINE_LEAST_RUNS);
}

/* The parts of a plan, then the numbers as runs, of which it has room for so many. */
static __always_inline int record_numbers(struct hit *hit, const struct engine_capture *plan,
					  struct numbers *n, const __u32 most)
{
	struct engine_record *r =
		open_record(hit, ENGINE_ROOM_COMPACT + sizeof(struct engine_indexes) +
					 most * sizeof(struct engine_index_run));

	if (!r)
		return 0;
	struct engine_indexes *out = (struct engine_indexes *)((char *)(r + 1) + ENGINE_ROOM_COMPACT);

	copy_parts(hit, plan, r, ENGINE_ROOM_COMPACT, ENGINE_START_COMPACT);
	n->runs = (struct engine_index_run *)(out + 1);
	if (n->elements && most == ENGINE_LEAST_RUNS)
		bpf_loop(n->elements, walk_least_numbers, n, 0);
	else if (n->elements && most == ENGINE_FEW_RUNS)
		bpf_loop(n->elements, walk_few_numbers, n, 0);
	else if (n->elements)
		bpf_loop(n->elements, walk_many_numbers, n, 0);
	out->target = n->target;
	out->elements = n->elements;
	out->runs = n->n_runs;
	out->held = n->held;
	out->pad = 0;
	close_record(r);
	return 0;
}

/* The numbers of a tensor of one dimension; none where there is no such tensor. */
static __always_inline void find_numbers(struct numbers *n, const struct engine_capture *plan, __u64 reference)
{
	__u64 tensor = 0, elements = 0, stride = 0;
	__u16 type = 0;

	if (bpf_probe_read_user(&tensor, sizeof(tensor), (void *)reference) ||
	    bpf_probe_read_user(&type, sizeof(type), (void *)(tensor + plan->tensor_type)) ||
	    bpf_probe_read_user(&elements, sizeof(elements), (void *)(tensor + plan->tensor_elements)) ||
	    bpf_probe_read_user(&stride, sizeof(stride), (void *)(tensor + plan->torch_strides)))
		return;
	n->wide = type == plan->wide_type;
	if ((!n->wide && type != plan->narrow_type) || (stride != 1 && elements > 1) || elements > MAX_BATCH_TOKENS ||
	    open_tensor(plan, reference, n->wide ? 8 : 4, &tensor, &n->data))
		return;
	n->target = n->data;
	n->elements = elements;
}

/* The parts of a plan, then the numbers of a tensor. */
static __always_inline int record_tensor(struct hit *hit, const struct engine_capture *plan)
{
	struct numbers n = {};

	find_numbers(&n, plan, hit->args[plan->numbers_argument & 7]);
	return record_numbers(hit, plan, &n, ENGINE_LEAST_RUNS);
}

#endif
