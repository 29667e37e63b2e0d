/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What an operand of a graph's node holds: the cells of the cache that a batch writes, as runs. */
#ifndef MRM_ENGINE_GRAPH_H
#define MRM_ENGINE_GRAPH_H

#include "engine-numbers.h"

/* What is known of a graph while its nodes are gone through. */
struct search {
	__u64 nodes;
	__u64 found;
	__u32 operation;
	__u32 node_operation;
	__u32 node_owner;
	__u32 tensor_buffer;
	__u32 buffer_usage;
	__u32 passing_usage;
};

static long find_operation(__u32 index, void *context)
{
	struct search *s = context;
	__u64 node = 0, owner = 0, buffer = 0;
	__u32 operation = 0, usage = 0;

	if (bpf_probe_read_user(&node, sizeof(node), (void *)(s->nodes + index * 8ull)) ||
	    bpf_probe_read_user(&operation, sizeof(operation), (void *)(node + s->node_operation)))
		return 1;
	if (operation != s->operation)
		return 0;
	if (bpf_probe_read_user(&owner, sizeof(owner), (void *)(node + s->node_owner)) ||
	    bpf_probe_read_user(&buffer, sizeof(buffer), (void *)(owner + s->tensor_buffer)) ||
	    bpf_probe_read_user(&usage, sizeof(usage), (void *)(buffer + s->buffer_usage)) || usage == s->passing_usage)
		return 0;
	s->found = node;
	return 1;
}

/* The operand of the graph's first node of an operation that writes what stays; no target where there is none. */
static __always_inline void find_operand(struct numbers *n, const struct engine_capture *plan, __u64 graph)
{
	struct search s = {
		.operation = plan->operation,
		.node_operation = plan->node_operation,
		.node_owner = plan->node_owner,
		.tensor_buffer = plan->tensor_buffer,
		.buffer_usage = plan->buffer_usage,
		.passing_usage = plan->passing_usage,
	};
	__u64 operand = 0, target = 0, elements = 0;
	__u32 type = 0;
	__s32 count = 0;

	if (bpf_probe_read_user(&count, sizeof(count), (void *)(graph + plan->graph_count)) || count <= 0 ||
	    bpf_probe_read_user(&s.nodes, sizeof(s.nodes), (void *)(graph + plan->graph_nodes)))
		return;
	bpf_loop(count < ENGINE_NODES ? count : ENGINE_NODES, find_operation, &s, 0);
	if (!s.found || bpf_probe_read_user(&operand, sizeof(operand), (void *)(s.found + plan->node_operand)) ||
	    bpf_probe_read_user(&target, sizeof(target), (void *)(s.found + plan->tensor_data)) ||
	    bpf_probe_read_user(&type, sizeof(type), (void *)(operand + plan->tensor_type)) ||
	    bpf_probe_read_user(&elements, sizeof(elements), (void *)(operand + plan->tensor_elements)) ||
	    bpf_probe_read_user(&n->data, sizeof(n->data), (void *)(operand + plan->tensor_data)))
		return;
	n->wide = type == plan->wide_type;
	if ((!n->wide && type != plan->narrow_type) || elements > MAX_BATCH_TOKENS)
		return;
	n->target = target;
	n->elements = elements;
}

/* The parts of a plan, then what an operand in the graph holds that the first of them was copied from: its numbers as runs. */
static __always_inline int record_graph(struct hit *hit, const struct engine_capture *plan)
{
	struct numbers n = {};

	find_operand(&n, plan, hit->args[plan->source[0] & 3]);
	if (n.elements <= ENGINE_LEAST_RUNS)
		return record_numbers(hit, plan, &n, ENGINE_LEAST_RUNS);
	if (n.elements <= ENGINE_FEW_RUNS)
		return record_numbers(hit, plan, &n, ENGINE_FEW_RUNS);
	return record_numbers(hit, plan, &n, ENGINE_MANY_RUNS);
}

#endif
