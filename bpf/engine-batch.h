/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A batch that a function is given by value: its arrays of positions, sequences and of what asks for logits as runs. */
#ifndef MRM_ENGINE_BATCH_H
#define MRM_ENGINE_BATCH_H

#include "engine-record.h"

#define MAX_TOKEN_SEQUENCES 8

/* What is known of a batch while its tokens are walked; the last run is here as well, to compare the next token with. */
struct walk {
	__u64 position;
	__u64 sequence_count;
	__u64 sequences;
	/* Of flags of a byte; 0 where there are none, or one could not be read. */
	__u64 logits;
	struct engine_batch_run *runs;
	struct engine_batch_run last;
	__u32 n_runs;
	__u32 tokens_held;
	/* One sequence for each token. */
	__u32 is_flat;
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
	token->asking = 0;
	token->sequence_mask = 1;
	if (w->position && bpf_probe_read_user(&token->position, sizeof(token->position), (void *)(w->position + index * 4ull)))
		return 1;
	if (w->is_flat) {
		if (bpf_probe_read_user(&list, sizeof(list), (void *)(w->sequences + index * 8ull)) || list >> 31)
			return 1;
		token->sequence = list;
		token->sequence_mask = list < 64 ? 1ull << list : 0;
		return 0;
	}
	if (!w->sequences)
		return 0;
	/* Without counts each token is of one. */
	if ((w->sequence_count &&
	     bpf_probe_read_user(&n, sizeof(n), (void *)(w->sequence_count + index * 4ull))) ||
	    bpf_probe_read_user(&list, sizeof(list), (void *)(w->sequences + index * 8ull)) || n < 1)
		return 1;
	token->sequences = n < 0xffff ? n : 0xffff;
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

static __always_inline long take_token(struct walk *w, __u32 index, const __u32 most)
{
	struct engine_batch_run *last = &w->last, token;
	__u32 run = w->n_runs;
	__u8 asks = 0;

	if (read_token(w, index, &token))
		return 1;
	if (w->logits && bpf_probe_read_user(&asks, sizeof(asks), (void *)(w->logits + index)))
		w->logits = 0;
	if (asks)
		token.asking = 1;
	if (run && token.sequence == last->sequence && token.sequences == last->sequences &&
	    token.sequence_mask == last->sequence_mask &&
	    (!w->position || token.position == last->position + (__s32)last->tokens)) {
		run--;
		token.position = last->position;
		token.tokens = last->tokens + 1;
		if (asks)
			token.asking = last->asking < 0xffff ? last->asking + 1 : 0xffff;
	}
	if (run >= most)
		return 1;
	w->runs[run] = token;
	w->last = token;
	w->n_runs = run + 1;
	w->tokens_held++;
	return 0;
}

static long walk_least(__u32 index, void *context)
{
	return take_token(context, index, ENGINE_LEAST_RUNS);
}

static long walk_few(__u32 index, void *context)
{
	return take_token(context, index, ENGINE_FEW_RUNS);
}

static long walk_many(__u32 index, void *context)
{
	return take_token(context, index, ENGINE_MANY_RUNS);
}

static __always_inline int record_runs(struct hit *hit, struct walk *w, __s32 n, int failed, const __u32 most)
{
	struct engine_record *r = open_record(hit, sizeof(struct engine_batch) + most * sizeof(struct engine_batch_run));

	if (!r)
		return 0;
	struct engine_batch *batch = (struct engine_batch *)(r + 1);

	w->runs = (struct engine_batch_run *)(batch + 1);
	if (failed)
		r->unreadable = 1;
	else if (n > 0 && most == ENGINE_LEAST_RUNS)
		bpf_loop(n, walk_least, w, 0);
	else if (n > 0 && most == ENGINE_FEW_RUNS)
		bpf_loop(n, walk_few, w, 0);
	else if (n > 0)
		bpf_loop(n < MAX_BATCH_TOKENS ? n : MAX_BATCH_TOKENS, walk_many, w, 0);
	batch->n_tokens = n;
	batch->has_positions = w->position != 0;
	batch->has_logits = w->logits != 0;
	batch->runs = w->n_runs;
	batch->tokens_held = w->tokens_held;
	close_record(r);
	return 0;
}

/*
 * The arrays of a batch that is passed by value; a small batch cannot have more runs than tokens. Nearly every batch of a server is
 * one that decodes: with room for a prompt in each, the ring would hold a fifth as many.
 */
static __always_inline int record_batch(struct hit *hit, const struct engine_capture *plan)
{
	char *from = hit->stack_args;
	struct walk w = { .is_flat = plan->batch_flat };
	__s32 n = 0;
	int failed = bpf_probe_read_user(&n, sizeof(n), from + plan->batch_tokens) ||
		     bpf_probe_read_user(&w.position, sizeof(w.position), from + plan->batch_positions) ||
		     bpf_probe_read_user(&w.sequence_count, sizeof(w.sequence_count),
					 from + plan->batch_sequence_counts) ||
		     bpf_probe_read_user(&w.sequences, sizeof(w.sequences), from + plan->batch_sequences) ||
		     (!w.is_flat && bpf_probe_read_user(&w.logits, sizeof(w.logits), from + plan->batch_logits));

	if (n <= ENGINE_LEAST_RUNS)
		return record_runs(hit, &w, n, failed, ENGINE_LEAST_RUNS);
	if (n <= ENGINE_FEW_RUNS)
		return record_runs(hit, &w, n, failed, ENGINE_FEW_RUNS);
	return record_runs(hit, &w, n, failed, ENGINE_MANY_RUNS);
}

#endif
