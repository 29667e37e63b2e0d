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
static __always_inline int begin_request(struct block_walk *w)
{
	__u32 request = w->request;
	__u32 from = 0, until = 0, length = 0;

	if (request >= ENGINE_BLOCK_REQUESTS ||
	    bpf_probe_read_user(&from, sizeof(from), (void *)(w->starts + request * 4ull)) ||
	    bpf_probe_read_user(&until, sizeof(until), (void *)(w->starts + request * 4ull + 4)) ||
	    bpf_probe_read_user(&length, sizeof(length), (void *)(w->lengths + request * 4ull)))
		return 1;
	w->requests[request].tokens = until - from;
	w->requests[request].length = length;
	w->blocks = length / w->block_tokens + (length % w->block_tokens != 0);
	return 0;
}

static long walk_block(__u32 index, void *context)
{
	struct block_walk *w = context;
	__u32 run = w->n_runs, number = 0;

	if (w->block == 0 && begin_request(w))
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
		if (run >= ENGINE_BLOCK_RUNS)
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

/* The blocks of each request of a step: three tensors of whole numbers, of which the stack has the table of blocks. */
static __always_inline void read_blocks(struct hit *hit, const struct engine_capture *plan,
					struct engine_blocks *out, __u64 cache)
{
	struct block_walk w = {
		.requests = (struct engine_block_request *)(out + 1),
		.runs = (struct engine_index_run *)((struct engine_block_request *)(out + 1) + ENGINE_BLOCK_REQUESTS),
	};
	__s64 window = 0;
	__u64 reference = 0, tensor = 0, query = 0, requests = 0, tokens = 0, block_tokens = 0, stride = 0;

	out->tokens = 0;
	out->requests = 0;
	out->requests_held = 0;
	out->runs = 0;
	out->held = 0;
	out->has_window = 0;
	if (bpf_probe_read_user(&query, sizeof(query), (void *)hit->args[plan->query_argument & 7]) ||
	    bpf_probe_read_user(&tokens, sizeof(tokens), (void *)(query + plan->torch_sizes)) ||
	    bpf_probe_read_user(&block_tokens, sizeof(block_tokens), (void *)(cache + plan->torch_sizes + 16)) ||
	    open_tensor(plan, hit->args[plan->starts_argument & 7], 4, &tensor, &w.starts) ||
	    open_tensor(plan, hit->args[plan->lengths_argument & 7], 4, &tensor, &w.lengths) ||
	    bpf_probe_read_user(&requests, sizeof(requests), (void *)(tensor + plan->torch_sizes)) ||
	    bpf_probe_read_user(&window, sizeof(window), hit->stack_args + plan->window_place) ||
	    bpf_probe_read_user(&reference, sizeof(reference), hit->stack_args + plan->blocks_place) ||
	    open_tensor(plan, reference, 4, &tensor, &w.table) ||
	    bpf_probe_read_user(&stride, sizeof(stride), (void *)(tensor + plan->torch_strides)))
		return;
	out->tokens = tokens;
	out->requests = requests;
	out->has_window = window != -1;
	if (!block_tokens || block_tokens >> 32 || !requests || requests >> 32)
		return;
	w.block_tokens = block_tokens;
	w.n_requests = requests;
	w.row_bytes = stride * 4;
	bpf_loop(ENGINE_BLOCK_STEPS, walk_block, &w, 0);
	out->requests_held = w.request;
	out->runs = w.n_runs;
	out->held = w.held;
}

/*
 * The parts of a plan; behind them, where the cache tensor of the call is the first in its storage, the blocks of each request:
 * every layer of a step has the same. Of the others nothing is told once their caches are known.
 */
static __always_inline int record_blocks(struct hit *hit, const struct engine_capture *plan)
{
	__u64 cache = 0, offset = 1;
	struct engine_record *r;

	if (bpf_probe_read_user(&cache, sizeof(cache), (void *)hit->args[plan->cache_argument & 7]) ||
	    bpf_probe_read_user(&offset, sizeof(offset), (void *)(cache + plan->torch_offset)) || offset) {
		if (plan->first_only && offset && cache) {
			COUNT(unwanted);
			return 0;
		}
		return record_parts(hit, plan, ENGINE_ROOM_COMPACT, ENGINE_START_COMPACT);
	}
	r = open_record(hit, ENGINE_ROOM_COMPACT + sizeof(struct engine_blocks) +
				     ENGINE_BLOCK_REQUESTS * sizeof(struct engine_block_request) +
				     ENGINE_BLOCK_RUNS * sizeof(struct engine_index_run));
	if (!r)
		return 0;
	copy_parts(hit, plan, r, ENGINE_ROOM_COMPACT, ENGINE_START_COMPACT);
	read_blocks(hit, plan, (struct engine_blocks *)((char *)(r + 1) + ENGINE_ROOM_COMPACT), cache);
	close_record(r);
	return 0;
}

#endif
