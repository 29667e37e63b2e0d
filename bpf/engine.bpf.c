/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Probes on exported functions of inference engines. One program for every
 * entry and one for every return: the cookie is the number of a plan, which
 * says what to copy from where. Structures are copied raw; where their fields
 * are is known to the reader only. The exceptions are a batch that is passed
 * by value, whose arrays of positions and sequences become runs here, what an
 * operand of a graph's node holds, and the blocks of a step's requests.
 *
 * uprobe programs are preemptible: they write to a ring buffer, never to a
 * staging block.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "targets.h"
#include "columns.gen.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * A server of four slots writes some 5 MB/s before its tensors are known: 1.6 s of them, while a recorder may be busy with
 * its first look at a large process.
 */
#define RING_BYTES (8 << 20)
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
#define ARGS(ctx, to)                                                                                     \
	((to)[0] = (ctx)->di, (to)[1] = (ctx)->si, (to)[2] = (ctx)->dx, (to)[3] = (ctx)->cx, (to)[4] = (ctx)->r8, \
	 (to)[5] = (ctx)->r9)
#define RETURNED(ctx) ((ctx)->ax)
#else
/* AAPCS64: large structures by value are passed as a pointer to a copy, here the second argument. */
#define REGS(ctx) (((struct user_pt_regs *)(ctx))->regs)
#define STRUCT_ADDRESS(ctx) ((void *)REGS(ctx)[1])
#define ARGS(ctx, to)                                                                           \
	((to)[0] = REGS(ctx)[0], (to)[1] = REGS(ctx)[1], (to)[2] = REGS(ctx)[2], (to)[3] = REGS(ctx)[3], \
	 (to)[4] = REGS(ctx)[4], (to)[5] = REGS(ctx)[5])
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
	/* Of which a record has the first; a power of two, so that a number from a plan finds one. */
	__u64 args[8];
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

/* What a probe copies, by the number in its cookie; user space writes an element before it attaches the probe. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENGINE_CAPTURES);
	__type(key, __u32);
	__type(value, struct engine_capture);
} engine_captures SEC(".maps");

/* What is known of a batch while its tokens are walked; the last run is here as well, to compare the next token with. */
struct walk {
	__u64 position;
	__u64 sequence_count;
	__u64 sequences;
	struct engine_batch_run *runs;
	struct engine_batch_run last;
	__u32 n_runs;
	__u32 tokens_held;
};

/* The position and the sequences of a token, as a run of one; not 0 where they cannot be read. */
static __always_inline int read_token(const struct walk *w, __u32 index, struct engine_batch_run *token)
{
	__s32 sequence = 0, n = 1;
	__u64 list = 0;

	token->position = -1;
	token->tokens = 1;
	token->sequence = 0;
	token->sequences = 1;
	token->sequence_mask = 1;
	if (w->position && bpf_probe_read_user(&token->position, sizeof(token->position), (void *)(w->position + index * 4ull)))
		return 1;
	if (!w->sequences || !w->sequence_count)
		return 0;
	if (bpf_probe_read_user(&n, sizeof(n), (void *)(w->sequence_count + index * 4ull)) ||
	    bpf_probe_read_user(&list, sizeof(list), (void *)(w->sequences + index * 8ull)) || n < 1)
		return 1;
	token->sequences = n;
	token->sequence_mask = 0;
	for (int i = 0; i < MAX_TOKEN_SEQUENCES && i < n; i++) {
		if (bpf_probe_read_user(&sequence, sizeof(sequence), (void *)(list + i * 4ull)))
			return 1;
		if (i == 0)
			token->sequence = sequence;
		if (sequence >= 0 && sequence < 64)
			token->sequence_mask |= 1ull << sequence;
	}
	return 0;
}

static long walk_token(__u32 index, void *context)
{
	struct walk *w = context;
	struct engine_batch_run *last = &w->last, token;
	__u32 run = w->n_runs;

	if (read_token(w, index, &token))
		return 1;
	if (run && token.sequence == last->sequence && token.sequences == last->sequences &&
	    token.sequence_mask == last->sequence_mask &&
	    (!w->position || token.position == last->position + (__s32)last->tokens)) {
		run--;
		token.position = last->position;
		token.tokens = last->tokens + 1;
	}
	if (run >= ENGINE_BATCH_RUNS)
		return 1;
	w->runs[run] = token;
	w->last = token;
	w->n_runs = run + 1;
	w->tokens_held++;
	return 0;
}

/* The arrays of a batch that is passed by value. */
static __always_inline int record_batch(struct pt_regs *ctx, struct hit *hit, const struct engine_capture *plan)
{
	char *from = STRUCT_ADDRESS(ctx);
	struct walk w = {};
	struct engine_record *r =
		open_record(hit, sizeof(struct engine_batch) + ENGINE_BATCH_RUNS * sizeof(struct engine_batch_run));

	if (!r)
		return 0;
	struct engine_batch *batch = (struct engine_batch *)(r + 1);
	__s32 n = 0;

	w.runs = (struct engine_batch_run *)(batch + 1);
	if (bpf_probe_read_user(&n, sizeof(n), from + plan->batch_tokens) ||
	    bpf_probe_read_user(&w.position, sizeof(w.position), from + plan->batch_positions) ||
	    bpf_probe_read_user(&w.sequence_count, sizeof(w.sequence_count), from + plan->batch_sequence_counts) ||
	    bpf_probe_read_user(&w.sequences, sizeof(w.sequences), from + plan->batch_sequences))
		r->unreadable = 1;
	else if (n > 0)
		bpf_loop(n < MAX_BATCH_TOKENS ? n : MAX_BATCH_TOKENS, walk_token, &w, 0);
	batch->n_tokens = n;
	batch->has_positions = w.position != 0;
	batch->runs = w.n_runs;
	batch->tokens_held = w.tokens_held;
	close_record(r);
	return 0;
}

/* Keeps the compiler from reading a checked value again. */
#define HOLD(value) asm volatile("" : "+r"(value))

/* What the pointers of a part lead to; 0 where one cannot be read, which no read of the part survives. */
static __always_inline void *followed(const struct engine_capture *plan, int part, void *from)
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
static __always_inline void copy_parts(struct pt_regs *ctx, struct hit *hit, const struct engine_capture *plan,
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
		void *from = source == ENGINE_SOURCE_STRUCTURE ? STRUCT_ADDRESS(ctx) : (void *)hit->args[source & 7];
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

static __always_inline int record_parts(struct pt_regs *ctx, struct hit *hit, const struct engine_capture *plan,
					const __u32 room, const __u32 latest)
{
	struct engine_record *r = open_record(hit, room);

	if (!r)
		return 0;
	copy_parts(ctx, hit, plan, r, room, latest);
	close_record(r);
	return 0;
}

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

/* What is known of an operand while its numbers are gone through; the last run is here as well. */
struct numbers {
	__u64 data;
	struct engine_index_run *runs;
	struct engine_index_run last;
	__u32 wide;
	__u32 n_runs;
	__u32 held;
};

static long walk_number(__u32 index, void *context)
{
	struct numbers *n = context;
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
	if (run >= ENGINE_INDEX_RUNS)
		return 1;
	n->runs[run] = n->last;
	n->n_runs = run + 1;
	n->held++;
	return 0;
}

/* The numbers in the operand of the graph's first node of an operation that writes what stays, as runs. */
static __always_inline void read_indexes(struct engine_indexes *out, const struct engine_capture *plan, __u64 graph)
{
	struct search s = {
		.operation = plan->operation,
		.node_operation = plan->node_operation,
		.node_owner = plan->node_owner,
		.tensor_buffer = plan->tensor_buffer,
		.buffer_usage = plan->buffer_usage,
		.passing_usage = plan->passing_usage,
	};
	struct numbers n = { .runs = (struct engine_index_run *)(out + 1) };
	__u64 operand = 0, target = 0, elements = 0;
	__u32 type = 0;
	__s32 count = 0;

	out->target = 0;
	out->elements = 0;
	out->runs = 0;
	out->held = 0;
	out->pad = 0;
	if (bpf_probe_read_user(&count, sizeof(count), (void *)(graph + plan->graph_count)) || count <= 0 ||
	    bpf_probe_read_user(&s.nodes, sizeof(s.nodes), (void *)(graph + plan->graph_nodes)))
		return;
	bpf_loop(count < ENGINE_NODES ? count : ENGINE_NODES, find_operation, &s, 0);
	if (!s.found || bpf_probe_read_user(&operand, sizeof(operand), (void *)(s.found + plan->node_operand)) ||
	    bpf_probe_read_user(&target, sizeof(target), (void *)(s.found + plan->tensor_data)) ||
	    bpf_probe_read_user(&type, sizeof(type), (void *)(operand + plan->tensor_type)) ||
	    bpf_probe_read_user(&elements, sizeof(elements), (void *)(operand + plan->tensor_elements)) ||
	    bpf_probe_read_user(&n.data, sizeof(n.data), (void *)(operand + plan->tensor_data)))
		return;
	n.wide = type == plan->wide_type;
	if ((!n.wide && type != plan->narrow_type) || elements > MAX_BATCH_TOKENS)
		return;
	bpf_loop(elements, walk_number, &n, 0);
	out->target = target;
	out->elements = elements;
	out->runs = n.n_runs;
	out->held = n.held;
}

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
static __always_inline void read_blocks(struct pt_regs *ctx, struct hit *hit, const struct engine_capture *plan,
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
	    bpf_probe_read_user(&window, sizeof(window), STRUCT_ADDRESS(ctx) + plan->window_place) ||
	    bpf_probe_read_user(&reference, sizeof(reference), STRUCT_ADDRESS(ctx) + plan->blocks_place) ||
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
 * every layer of a step has the same.
 */
static __always_inline int record_blocks(struct pt_regs *ctx, struct hit *hit, const struct engine_capture *plan)
{
	__u64 cache = 0, offset = 1;
	struct engine_record *r;

	if (bpf_probe_read_user(&cache, sizeof(cache), (void *)hit->args[plan->cache_argument & 7]) ||
	    bpf_probe_read_user(&offset, sizeof(offset), (void *)(cache + plan->torch_offset)) || offset)
		return record_parts(ctx, hit, plan, ENGINE_ROOM_COMPACT, ENGINE_START_COMPACT);
	r = open_record(hit, ENGINE_ROOM_COMPACT + sizeof(struct engine_blocks) +
				     ENGINE_BLOCK_REQUESTS * sizeof(struct engine_block_request) +
				     ENGINE_BLOCK_RUNS * sizeof(struct engine_index_run));
	if (!r)
		return 0;
	copy_parts(ctx, hit, plan, r, ENGINE_ROOM_COMPACT, ENGINE_START_COMPACT);
	read_blocks(ctx, hit, plan, (struct engine_blocks *)((char *)(r + 1) + ENGINE_ROOM_COMPACT), cache);
	close_record(r);
	return 0;
}

/* The parts of a plan, then what an operand in the graph holds that the first of them was copied from. */
static __always_inline int record_graph(struct pt_regs *ctx, struct hit *hit, const struct engine_capture *plan)
{
	struct engine_record *r =
		open_record(hit, ENGINE_ROOM_COMPACT + sizeof(struct engine_indexes) +
					 ENGINE_INDEX_RUNS * sizeof(struct engine_index_run));

	if (!r)
		return 0;
	copy_parts(ctx, hit, plan, r, ENGINE_ROOM_COMPACT, ENGINE_START_COMPACT);
	read_indexes((struct engine_indexes *)((char *)(r + 1) + ENGINE_ROOM_COMPACT), plan, hit->args[plan->source[0] & 3]);
	close_record(r);
	return 0;
}

static __always_inline int record(struct pt_regs *ctx, bool is_return)
{
	__u64 ids = current_ids();
	struct target *target = target_of(ids >> 32);
	struct hit hit = { .timestamp_ns = bpf_ktime_get_ns(), .ids = ids, .is_return = is_return };
	struct engine_capture *plan;

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
	if (plan->walks == ENGINE_WALK_BATCH)
		return record_batch(ctx, &hit, plan);
	if (plan->walks == ENGINE_WALK_GRAPH)
		return record_graph(ctx, &hit, plan);
	if (plan->walks == ENGINE_WALK_BLOCKS)
		return record_blocks(ctx, &hit, plan);
	switch (plan->room) {
	case 0:
		return record_parts(ctx, &hit, plan, 0, 0);
	case ENGINE_ROOM_SMALL:
		return record_parts(ctx, &hit, plan, ENGINE_ROOM_SMALL, ENGINE_START_SMALL);
	case ENGINE_ROOM_COMPACT:
		return record_parts(ctx, &hit, plan, ENGINE_ROOM_COMPACT, ENGINE_START_COMPACT);
	case ENGINE_ROOM_MEDIUM:
		return record_parts(ctx, &hit, plan, ENGINE_ROOM_MEDIUM, ENGINE_START_MEDIUM);
	default:
		return record_parts(ctx, &hit, plan, ENGINE_ROOM_LARGE, ENGINE_START_LARGE);
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
