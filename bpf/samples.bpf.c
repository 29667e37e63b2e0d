/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Samples of the PMU (PEBS, IBS): one row per sampled load or store of a
 * watched process. The event's interrupt may be an NMI, so nothing here takes
 * a lock or leaves the rings of this CPU.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "targets.h"

/* At the budget's thousands of samples per second this is more than a second. */
#define RING_BLOCKS 8
#include "ring.h"

/* perf_event programs do not interrupt each other on one CPU. */
RING_AREA(sample, sample_block);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SAMPLE_EVENTS);
	__type(key, __u32);
	__type(value, struct sample_count);
} sample_counts SEC(".maps");

/* include/uapi/linux/perf_event.h */
#define PERF_SAMPLE_ADDR 8
#define PERF_SAMPLE_WEIGHT 0x4000
#define PERF_SAMPLE_DATA_SRC 0x8000
#define PERF_SAMPLE_WEIGHT_STRUCT 0x1000000
#define PERF_MEM_OP_LOAD 2
#define PERF_MEM_OP_STORE 4

/* What the sample says, with 0 for what it does not. */
struct sample {
	__u64 addr;
	__u64 data_src;
	__u64 weight;
	__u64 interrupts;
};

/*
 * Kernels from 6.1 on say which fields a sample has. Up to 6.2 an unset field
 * holds what the stack held, so the flags must be asked; later ones set the
 * flags for defaulted fields too, so the value must be judged as well.
 */
#define SAMPLE_OF(out, data, event, READ)                                                              \
	do {                                                                                           \
		__u64 has = ~0ULL;                                                                     \
		if (bpf_core_field_exists(struct perf_sample_data, sample_flags))                      \
			has = READ(data, sample_flags);                                                \
		if (has & PERF_SAMPLE_ADDR)                                                            \
			(out).addr = READ(data, addr);                                                 \
		if (has & PERF_SAMPLE_DATA_SRC)                                                        \
			(out).data_src = READ(data, data_src.val);                                     \
		if (has & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))                            \
			(out).weight = READ(data, weight.full);                                        \
		(out).interrupts = READ(event, hw.interrupts);                                         \
	} while (0)

static __always_inline int keep(struct bpf_perf_event_data *ctx, const struct sample *sample,
				struct sample_count *count, __u32 cookie)
{
	__u64 now, id = current_ids();
	struct target *target = target_of(id >> 32);
	__u64 operation = sample->data_src & (PERF_MEM_OP_LOAD | PERF_MEM_OP_STORE);

	/* The sample after which the kernel stops the event until its next tick comes with this mark. */
	if (sample->interrupts == ~0ULL) {
		count->throttled++;
		count->stopped_at_ns = bpf_ktime_get_ns();
	}
	if (!target) {
		count->foreign++;
		return 0;
	}
	if (!sample->addr || (!operation && !(cookie & SAMPLE_COOKIE_OP_KNOWN))) {
		count->not_memory++;
		return 0;
	}
	if (sample->addr >> 63) {
		count->kernel_address++;
		return 0;
	}
	now = bpf_ktime_get_ns();
	RING_ROW(sample, now, return 0);
	RING_PUT(timestamp_ns, now);
	RING_PUT(address, sample->addr);
	RING_PUT(ip, PT_REGS_IP(&ctx->regs));
	RING_PUT(period, ctx->sample_period);
	RING_PUT(data_src, sample->data_src);
	RING_PUT(weight, sample->weight);
	RING_PUT(pid, owner_of(target, id >> 32));
	RING_PUT(tid, (__u32)id);
	RING_PUT(event, cookie & SAMPLE_COOKIE_EVENT_MASK);
	RING_COMMIT();
	return 0;
}

/* The longest tick (HZ=100); a sample that comes later was late for another reason. */
#define LONGEST_TICK_NS 10000000

/* The account of this event on this CPU, with this run in it. */
static __always_inline struct sample_count *count_run(struct bpf_perf_event_data *ctx, __u32 cookie)
{
	__u32 index = bpf_get_smp_processor_id() * SAMPLE_EVENTS + (cookie & SAMPLE_COOKIE_EVENT_MASK);
	struct sample_count *count = bpf_map_lookup_elem(&sample_counts, &index);

	if (count) {
		count->runs++;
		count->period += ctx->sample_period;
		if (count->stopped_at_ns) {
			__u64 stopped = bpf_ktime_get_ns() - count->stopped_at_ns;

			count->stopped_ns += stopped < LONGEST_TICK_NS ? stopped : LONGEST_TICK_NS;
			count->stopped_at_ns = 0;
		}
	}
	return count;
}

/* Since 6.2 the verifier lets the sample be read in place. */
extern void *bpf_cast_to_kern_ctx(void *) __ksym __weak;

#define READ_IN_PLACE(from, field) ((from)->field)

SEC("perf_event")
int sample_in_place(struct bpf_perf_event_data *ctx)
{
	__u32 cookie = bpf_get_attach_cookie(ctx);
	struct sample_count *count = count_run(ctx, cookie);
	struct bpf_perf_event_data_kern *kern = bpf_cast_to_kern_ctx(ctx);
	struct sample sample = {};

	if (!count)
		return 0;
	SAMPLE_OF(sample, kern->data, kern->event, READ_IN_PLACE);
	return keep(ctx, &sample, count, cookie);
}

/* Before, it is copied: the true context lies where the program's context seems to. */
SEC("perf_event")
int sample_by_copy(struct bpf_perf_event_data *ctx)
{
	__u32 cookie = bpf_get_attach_cookie(ctx);
	struct sample_count *count = count_run(ctx, cookie);
	struct perf_sample_data *data = 0;
	struct perf_event *event = 0;
	struct sample sample = {};

	if (!count)
		return 0;
	if (bpf_probe_read_kernel(&data, sizeof(data),
				  (void *)ctx + bpf_core_field_offset(struct bpf_perf_event_data_kern, data)) ||
	    bpf_probe_read_kernel(&event, sizeof(event),
				  (void *)ctx + bpf_core_field_offset(struct bpf_perf_event_data_kern, event))) {
		count->unreadable++;
		return 0;
	}
	SAMPLE_OF(sample, data, event, BPF_CORE_READ);
	return keep(ctx, &sample, count, cookie);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
