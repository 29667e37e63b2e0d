/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Page faults: one row when the exception is taken, a second one when a major fault's I/O is done. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "targets.h"
#include "ring.h"

/*
 * The programs can interrupt each other, so each has an area of its own. A fault taken by the kernel takes most of a
 * microsecond and one with I/O far more: fewer blocks last as long, and every block is memory of the tracer.
 */
RING_AREA(fault, fault_block);
RING_AREA_OF(kernel_fault, fault_block, 32);
RING_AREA_OF(major, fault_block, 4);

#if defined(__TARGET_ARCH_x86)
/* Bits of the x86 page-fault error code (arch/x86/include/asm/trap_pf.h). */
#define X86_PF_PROT 1
#define X86_PF_WRITE 2
#define X86_PF_USER 4
#define X86_PF_INSTR 16

static __always_inline __u32 flags_of(__u64 error_code)
{
	return (error_code & X86_PF_WRITE ? FAULT_WRITE : 0) | (error_code & X86_PF_USER ? FAULT_USER : 0) |
	       (error_code & X86_PF_INSTR ? FAULT_INSTRUCTION : 0) |
	       (error_code & X86_PF_PROT ? FAULT_PROTECTION : 0);
}
#else
/* Kernels of arm64 up to 6.12 have none of these tracepoints, and refuse the programs: nobody has seen such a code. */
static __always_inline __u32 flags_of(__u64 error_code)
{
	return FAULT_OP_UNKNOWN;
}
#endif

/* A row of a fault as it is taken. A BTF tracepoint reads the registers without a helper call. */
#define TAKEN(area, now)                                                      \
	__u64 id = current_ids();                                \
	struct pt_regs *regs = (struct pt_regs *)ctx[1];                      \
	struct target *target = target_of(id >> 32);                          \
	if (!target)                                                          \
		return 0;                                                     \
	__u64 now = bpf_ktime_get_ns();                                       \
	RING_ROW(area, now, return 0);                                        \
	RING_PUT(timestamp_ns, now);                                          \
	RING_PUT(address, ctx[0]);                                            \
	RING_PUT(ip, PT_REGS_IP(regs));                                       \
	RING_PUT(pid, owner_of(target, id >> 32));                            \
	RING_PUT(tid, (__u32)id);                                             \
	RING_PUT(fault_flags, flags_of(ctx[2]));                              \
	RING_COMMIT();                                                        \
	return 0

/* page_fault_user(address, regs, error_code): a third of the cost of the software event. */
SEC("tp_btf/page_fault_user")
int fault_user(unsigned long long *ctx)
{
	TAKEN(fault, now);
}

/* The kernel touching user memory on the program's behalf (copy_to_user and the like). */
SEC("tp_btf/page_fault_kernel")
int fault_kernel(unsigned long long *ctx)
{
	if (ctx[0] >> 63)
		return 0;
	TAKEN(kernel_fault, now);
}

SEC("perf_event")
int fault_major(struct bpf_perf_event_data *ctx)
{
	__u64 id = current_ids();
	struct target *target = target_of(id >> 32);
	__u64 now;

	if (!target)
		return 0;
	now = bpf_ktime_get_ns();
	RING_ROW(major, now, return 0);
	RING_PUT(timestamp_ns, now);
	RING_PUT(address, ctx->addr);
	RING_PUT(ip, PT_REGS_IP(&ctx->regs));
	RING_PUT(pid, owner_of(target, id >> 32));
	RING_PUT(tid, (__u32)id);
	RING_PUT(fault_flags, FAULT_MAJOR_DONE | FAULT_OP_UNKNOWN);
	RING_COMMIT();
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
