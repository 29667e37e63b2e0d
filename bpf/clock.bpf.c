/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Samples of a timer: the registers of a watched process between two of its
 * instructions. User space decodes the one that comes next, and computes the
 * address that it is about to access.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "targets.h"

/* At the highest rate, 10,000 a second, this is 200 ms. */
#define RING_BLOCKS 2
#include "ring.h"

/* perf_event programs do not interrupt each other on one CPU. */
RING_AREA(tick, tick_block);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tick_count);
} tick_counts SEC(".maps");

#if defined(__TARGET_ARCH_x86)
/*
 * The selector of the code is in the low 16 bits of this word of the context. Newer kernels declare it with that
 * width, which CO-RE would take over, and the verifier allows whole words only.
 */
#define CODE_SELECTOR(ctx) (*(volatile __u64 *)((void *)(ctx) + 136) & 0xffff)
/* arch/x86/include/asm/segment.h */
#define PRIVILEGE 3
#define USER_PRIVILEGE 3
#define USER_CODE_64 0x33

#define REPEAT 0xf3
#define REX_W 0x48
/* movs, stos: of bytes, and of words of the size that the prefix says. */
#define IS_STRING(op) (((op) & 0xfe) == 0xa4 || ((op) & 0xfe) == 0xaa)

/* True where the next instruction repeats a copy or a fill: while it lasts, a tick finds it there. */
static __always_inline bool in_string(struct bpf_perf_event_data *ctx, bool is_user)
{
	__u8 code[3] = {};
	void *ip = (void *)ctx->regs.ip;

	if (is_user ? bpf_probe_read_user(code, sizeof(code), ip) : bpf_probe_read_kernel(code, sizeof(code), ip))
		return false;
	return code[0] == REPEAT && IS_STRING(code[1] == REX_W ? code[2] : code[1]);
}

SEC("perf_event")
int clock_tick(struct bpf_perf_event_data *ctx)
{
	__u64 now, id = current_ids();
	__u64 selector = CODE_SELECTOR(ctx);
	struct target *target = target_of(id >> 32);
	__u32 cpu = bpf_get_smp_processor_id();
	struct tick_count *count = bpf_map_lookup_elem(&tick_counts, &cpu);
	struct task_struct *task;

	if (!count)
		return 0;
	count->runs++;
	count->period += ctx->sample_period;
	if (!target) {
		count->foreign++;
		return 0;
	}
	if (in_string(ctx, (selector & PRIVILEGE) == USER_PRIVILEGE))
		count->in_string++;
	if ((selector & PRIVILEGE) != USER_PRIVILEGE) {
		count->in_kernel++;
		return 0;
	}
	if (selector != USER_CODE_64) {
		count->other_mode++;
		return 0;
	}
	task = bpf_get_current_task_btf();
	now = bpf_ktime_get_ns();
	RING_ROW(tick, now, return 0);
	RING_PUT(timestamp_ns, now);
	RING_PUT(ip, ctx->regs.ip);
	RING_PUT(period, ctx->sample_period);
	RING_PUT(ax, ctx->regs.ax);
	RING_PUT(cx, ctx->regs.cx);
	RING_PUT(dx, ctx->regs.dx);
	RING_PUT(bx, ctx->regs.bx);
	RING_PUT(sp, ctx->regs.sp);
	RING_PUT(bp, ctx->regs.bp);
	RING_PUT(si, ctx->regs.si);
	RING_PUT(di, ctx->regs.di);
	RING_PUT(r8, ctx->regs.r8);
	RING_PUT(r9, ctx->regs.r9);
	RING_PUT(r10, ctx->regs.r10);
	RING_PUT(r11, ctx->regs.r11);
	RING_PUT(r12, ctx->regs.r12);
	RING_PUT(r13, ctx->regs.r13);
	RING_PUT(r14, ctx->regs.r14);
	RING_PUT(r15, ctx->regs.r15);
	/* Up to date unless the thread changed it by itself (wrfsbase) since it was last switched to. */
	RING_PUT(fs_base, task->thread.fsbase);
	RING_PUT(gs_base, task->thread.gsbase);
	RING_PUT(pid, owner_of(target, id >> 32));
	RING_PUT(tid, (__u32)id);
	RING_COMMIT();
	return 0;
}
#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";
