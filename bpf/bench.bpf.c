/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Producers for the benchmarks: they write rings as fast as asked, without anything to trace. Never loaded by a run. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "ids.h"
#include "ring.h"

RING_AREA(bench, fault_block);
/* As many blocks as in samples.bpf.c. */
RING_AREA_OF(access, sample_block, 8);

/* What user space asks for; shared with the benchmarks by position. */
struct bench_request {
	__u64 rows;
};

/* What both loops do: a timestamp and the ids. `seen` keeps the results alive. */
static long clock_only(__u64 index, __u64 *seen)
{
	__u64 id = current_ids();
	__u64 now = bpf_ktime_get_ns();

	*seen ^= now ^ id ^ index;
	return 0;
}

/* The same and a row of the ring: the difference is what a record costs. */
static long clock_and_row(__u64 index, __u64 *seen)
{
	__u64 id = current_ids();
	__u64 now = bpf_ktime_get_ns();

	*seen ^= now ^ id ^ index;
	RING_ROW(bench, now, return 0);
	RING_PUT(timestamp_ns, now);
	RING_PUT(address, index << 12);
	RING_PUT(ip, index);
	RING_PUT(pid, id >> 32);
	RING_PUT(tid, (__u32)id);
	RING_PUT(fault_flags, 3);
	RING_COMMIT();
	return 0;
}

/* The same with the columns of a sampled access. */
static long clock_and_access(__u64 index, __u64 *seen)
{
	__u64 id = current_ids();
	__u64 now = bpf_ktime_get_ns();

	*seen ^= now ^ id ^ index;
	RING_ROW(access, now, return 0);
	RING_PUT(timestamp_ns, now);
	RING_PUT(address, index << 12);
	RING_PUT(ip, index);
	RING_PUT(period, 10007);
	RING_PUT(data_src, index << 33);
	RING_PUT(weight, index);
	RING_PUT(pid, id >> 32);
	RING_PUT(tid, (__u32)id);
	RING_PUT(event, 1);
	RING_COMMIT();
	return 0;
}

SEC("syscall")
int bench_clock(struct bench_request *request)
{
	__u64 seen = 0;

	bpf_loop(request->rows, clock_only, &seen, 0);
	return seen == 1;
}

SEC("syscall")
int bench_rows(struct bench_request *request)
{
	__u64 seen = 0;

	bpf_loop(request->rows, clock_and_row, &seen, 0);
	return seen == 1;
}

SEC("syscall")
int bench_accesses(struct bench_request *request)
{
	__u64 seen = 0;

	bpf_loop(request->rows, clock_and_access, &seen, 0);
	return seen == 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
