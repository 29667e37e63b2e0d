/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The blocks of a paged cache that each request of a step has. */
#ifndef MRM_ENGINE_BLOCKS_H
#define MRM_ENGINE_BLOCKS_H

#include "engine-numbers.h"

/* What is known of the requests of a step while the blocks that they have are gone through. */
struct block_walk {
	__u64 starts;
	__u64 lengths;
	__u64 table;
	__u64 row_bytes;
	struct engine_block_request *requests;
	struct engine_index_run *runs;
	struct engine_index_run last;
	__u32 block_tokens;
	__u32 n_requests;
	__u32 request;
	__u32 block;
	__u32 blocks;
	__u32 n_runs;
	__u32 held;
};

/* Its tokens in the step and in all; not 0 where they cannot be read, or there is no room. */
static __always_inline int begin_request(struct block_walk *w, const __u32 room)
{
	__u32 request = w->request;
	__u32 from = 0, until = 0, length = 0;

	if (request >= room ||
	    bpf_probe_read_user(&from, sizeof(from), (void *)(w->starts + request * 4ull)) ||
	    bpf_probe_read_user(&until, sizeof(until), (void *)(w->starts + request * 4ull + 4)) ||
	    bpf_probe_read_user(&length, sizeof(length), (void *)(w->lengths + request * 4ull)))
		return 1;
	w->requests[request].tokens = until - from;
	w->requests[request].length = length;
	w->blocks = length / w->block_tokens + (length % w->block_tokens != 0);
	return 0;
}

static __always_inline long walk_block(struct block_walk *w, const __u32 requests, const __u32 runs)
{
	__u32 run = w->n_runs, number = 0;

	if (w->block == 0 && begin_request(w, requests))
		return 1;
	if (w->block < w->blocks) {
		if (bpf_probe_read_user(&number, sizeof(number),
					(void *)(w->table + w->request * w->row_bytes + w->block * 4ull)))
			return 1;
		if (run && number == w->last.first + w->last.count) {
			run--;
			w->last.count++;
		} else {
			w->last.first = number;
			w->last.count = 1;
		}
		if (run >= runs)
			return 1;
		w->runs[run] = w->last;
		w->n_runs = run + 1;
		w->held++;
		w->block++;
	}
	if (w->block >= w->blocks) {
		w->block = 0;
		w->request++;
	}
	return w->request >= w->n_requests;
}

static long walk_few_blocks(__u32 index, void *context)
{
	return walk_block(context, ENGINE_FEW_BLOCK_REQUESTS, ENGINE_FEW_BLOCK_RUNS);
}

static long walk_many_blocks(__u32 index, void *context)
{
	return walk_block(context, ENGINE_BLOCK_REQUESTS, ENGINE_BLOCK_RUNS);
}

/* Where the requests of a step and their blocks are: three tensors of whole numbers, of which the stack has the table of blocks. */
static __always_inline void find_blocks(struct hit *hit, const struct engine_capture *plan, __u64 cache,
					struct block_walk *w, struct engine_blocks *step)
{
	__s64 window = 0;
	__u64 reference = 0, tensor = 0, query = 0, requests = 0, tokens = 0, block_tokens = 0, stride = 0;

	if (bpf_probe_read_user(&query, sizeof(query), (void *)hit->args[plan->query_argument & 7]) ||
	    bpf_probe_read_user(&tokens, sizeof(tokens), (void *)(query + plan->torch_sizes)) ||
	    bpf_probe_read_user(&block_tokens, sizeof(block_tokens), (void *)(cache + plan->torch_sizes + 16)) ||
	    open_tensor(plan, hit->args[plan->starts_argument & 7], 4, &tensor, &w->starts) ||
	    open_tensor(plan, hit->args[plan->lengths_argument & 7], 4, &tensor, &w->lengths) ||
	    bpf_probe_read_user(&requests, sizeof(requests), (void *)(tensor + plan->torch_sizes)) ||
	    bpf_probe_read_user(&window, sizeof(window), hit->stack_args + plan->window_place) ||
	    bpf_probe_read_user(&reference, sizeof(reference), hit->stack_args + plan->blocks_place) ||
	    open_tensor(plan, reference, 4, &tensor, &w->table) ||
	    bpf_probe_read_user(&stride, sizeof(stride), (void *)(tensor + plan->torch_strides)))
		return;
	step->tokens = tokens;
	step->requests = requests;
	step->has_window = window != -1;
	if (!block_tokens || block_tokens >> 32 || !requests || requests >> 32)
		return;
	w->block_tokens = block_tokens;
	w->n_requests = requests;
	w->row_bytes = stride * 4;
}

#define BLOCK_BYTES(n_requests, n_runs)                                                          \
	(sizeof(struct engine_blocks) + (n_requests) * sizeof(struct engine_block_request) + \
	 (n_runs) * sizeof(struct engine_index_run))
#define FEW_BLOCK_BYTES BLOCK_BYTES(ENGINE_FEW_BLOCK_REQUESTS, ENGINE_FEW_BLOCK_RUNS)
#define MANY_BLOCK_BYTES BLOCK_BYTES(ENGINE_BLOCK_REQUESTS, ENGINE_BLOCK_RUNS)

/* The requests of a step and their blocks behind what every record of the plan has; false where there is no room for all of them. */
static __always_inline bool put_blocks(struct engine_record *r, struct block_walk *w, struct engine_blocks *step,
				       const __u32 n_requests, bool few)
{
	struct engine_blocks *out = (struct engine_blocks *)((char *)(r + 1) + ENGINE_ROOM_COMPACT);

	w->requests = (struct engine_block_request *)(out + 1);
	w->runs = (struct engine_index_run *)(w->requests + n_requests);
	w->request = 0;
	w->block = 0;
	w->n_runs = 0;
	w->held = 0;
	if (w->n_requests) {
		if (few)
			bpf_loop(ENGINE_BLOCK_STEPS, walk_few_blocks, w, 0);
		else
			bpf_loop(ENGINE_BLOCK_STEPS, walk_many_blocks, w, 0);
	}
	step->requests_held = w->request;
	step->runs = w->n_runs;
	step->held = w->held;
	*out = *step;
	return w->request >= w->n_requests;
}

/*
 * The parts of a plan; behind them, where the cache tensor of the call is the first in its storage, the blocks of each request:
 * every layer of a step has the same. Of the others nothing is told once their caches are known. The record is small where the step
 * has few requests: a recorder without a CPU comes seldom, and the ring then holds four times as many steps.
 */
static __always_inline int record_blocks(struct hit *hit, const struct engine_capture *plan)
{
	__u64 cache = 0, offset = 1;
	struct engine_blocks step = {};
	struct block_walk w = {};
	struct engine_record *r;

	if (bpf_probe_read_user(&cache, sizeof(cache), (void *)hit->args[plan->cache_argument & 7]) ||
	    bpf_probe_read_user(&offset, sizeof(offset), (void *)(cache + plan->torch_offset)) || offset) {
		if (plan->first_only && offset && cache) {
			COUNT(unwanted);
			return 0;
		}
		return record_parts(hit, plan, ENGINE_ROOM_COMPACT, ENGINE_START_COMPACT);
	}
	find_blocks(hit, plan, cache, &w, &step);
	if (w.n_requests <= ENGINE_FEW_BLOCK_REQUESTS) {
		r = open_record(hit, ENGINE_ROOM_COMPACT + FEW_BLOCK_BYTES);
		if (!r)
			return 0;
		if (put_blocks(r, &w, &step, ENGINE_FEW_BLOCK_REQUESTS, true)) {
			copy_parts(hit, plan, r, ENGINE_ROOM_COMPACT, ENGINE_START_COMPACT);
			close_record(r);
			return 0;
		}
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
	}
	r = open_record(hit, ENGINE_ROOM_COMPACT + MANY_BLOCK_BYTES);
	if (!r)
		return 0;
	put_blocks(r, &w, &step, ENGINE_BLOCK_REQUESTS, false);
	copy_parts(hit, plan, r, ENGINE_ROOM_COMPACT, ENGINE_START_COMPACT);
	close_record(r);
	return 0;
}

#endif
