/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Mappings and processes: calls that change an address space, and fork, exec and exit of the tree. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "targets.h"
#include "columns.gen.h"

/* include/uapi/linux/sched.h */
#define CLONE_VM 0x100

struct call {
	__u64 begin_ns;
	__u64 args[6];
};

/* Calls under way, by thread; an entry without a return is overwritten by the thread's next call. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 21); /* 20,000 records; the reader comes every 50 ms or sooner */
} lifecycle_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lifecycle_counters);
} lifecycle_counts SEC(".maps");

static __always_inline struct lifecycle_counters *counters(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&lifecycle_counts, &zero);
}

#define COUNT(field)                                                 \
	do {                                                         \
		struct lifecycle_counters *counts = counters();      \
		if (counts)                                          \
			__sync_fetch_and_add(&counts->field, 1);     \
	} while (0)

/* What became of a process is not known any more: the reader looks at its map anew. */
static __always_inline void lose(struct target *target)
{
	__sync_fetch_and_add(&target->lost, 1);
}

static __always_inline struct lifecycle_record *begin(__u32 kind, struct target *target, __u32 tgid, __u32 tid)
{
	struct lifecycle_record *record;

	COUNT(seen);
	record = bpf_ringbuf_reserve(&lifecycle_events, sizeof(*record), 0);
	if (!record) {
		lose(target);
		COUNT(dropped_ring_full);
		return 0;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->kind = kind;
	record->pid = tgid;
	record->tid = tid;
	record->exec_epoch = target->exec_epoch;
	record->end_ns = bpf_ktime_get_ns();
	record->begin_ns = record->end_ns;
	return record;
}

/* Whose address space a process changes: where another has lent it, that one is told to have done it. */
static __always_inline struct target *changed_by(__u32 *tgid)
{
	struct target *target = target_of(*tgid), *lender;

	if (!target || !target->lender)
		return target;
	lender = target_of(target->lender);
	if (!lender)
		return target;
	*tgid = target->lender;
	return lender;
}

/* The kernel refuses a program that reads past the arguments that the call has. */
static __always_inline int enter(struct trace_event_raw_sys_enter *ctx, int n_args)
{
	__u64 id = current_ids();
	__u32 tgid = id >> 32;
	struct target *target = changed_by(&tgid);
	struct call call = {};

	if (!target)
		return 0;
	call.begin_ns = bpf_ktime_get_ns();
	if (n_args > 0)
		call.args[0] = ctx->args[0];
	if (n_args > 1)
		call.args[1] = ctx->args[1];
	if (n_args > 2)
		call.args[2] = ctx->args[2];
	if (n_args > 3)
		call.args[3] = ctx->args[3];
	if (n_args > 4)
		call.args[4] = ctx->args[4];
	if (n_args > 5)
		call.args[5] = ctx->args[5];
	if (bpf_map_update_elem(&calls, &id, &call, BPF_ANY)) {
		lose(target);
		COUNT(dropped_call_table);
	}
	return 0;
}

static __always_inline int leave(struct trace_event_raw_sys_exit *ctx, __u32 kind)
{
	__u64 id = current_ids();
	__u32 tgid = id >> 32;
	struct target *target = changed_by(&tgid);
	struct lifecycle_record *record;
	struct call *call;

	if (!target)
		return 0;
	call = bpf_map_lookup_elem(&calls, &id);
	if (!call) {
		/* It was under way when we attached, or its entry found the table full. */
		lose(target);
		COUNT(returns_without_entry);
		return 0;
	}
	record = begin(kind, target, tgid, id);
	if (record) {
		record->begin_ns = call->begin_ns;
		record->args[0] = call->args[0];
		record->args[1] = call->args[1];
		record->args[2] = call->args[2];
		record->args[3] = call->args[3];
		record->args[4] = call->args[4];
		record->args[5] = call->args[5];
		record->result = ctx->ret;
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	}
	bpf_map_delete_elem(&calls, &id);
	return 0;
}

#define CALL(name, kind, n_args)                                                   \
	SEC("tp/syscalls/sys_enter_" #name)                                \
	int enter_##name(struct trace_event_raw_sys_enter *ctx)            \
	{                                                                  \
		return enter(ctx, n_args);                                 \
	}                                                                  \
	SEC("tp/syscalls/sys_exit_" #name)                                 \
	int exit_##name(struct trace_event_raw_sys_exit *ctx)              \
	{                                                                  \
		return leave(ctx, kind);                                   \
	}

CALL(mmap, LIFECYCLE_MMAP, 6)
CALL(munmap, LIFECYCLE_MUNMAP, 2)
CALL(mremap, LIFECYCLE_MREMAP, 5)
CALL(brk, LIFECYCLE_BRK, 1)

/* Calls that take nothing away are told by their return alone: their arguments are in the registers still. */
static __always_inline int returned(struct trace_event_raw_sys_exit *ctx, __u32 kind)
{
	__u64 id = current_ids();
	__u32 tgid = id >> 32;
	struct target *target = changed_by(&tgid);
	struct lifecycle_record *record;
	struct pt_regs *regs;

	if (!target)
		return 0;
	record = begin(kind, target, tgid, id);
	if (record) {
		regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
		record->args[0] = PT_REGS_PARM1_CORE_SYSCALL(regs);
		record->args[1] = PT_REGS_PARM2_CORE_SYSCALL(regs);
		record->args[2] = PT_REGS_PARM3_CORE_SYSCALL(regs);
		record->result = ctx->ret;
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	}
	return 0;
}

#define RETURN(name, kind)                                                         \
	SEC("tp/syscalls/sys_exit_" #name)                                 \
	int exit_##name(struct trace_event_raw_sys_exit *ctx)              \
	{                                                                  \
		return returned(ctx, kind);                                \
	}

RETURN(mprotect, LIFECYCLE_MPROTECT)
RETURN(pkey_mprotect, LIFECYCLE_MPROTECT)
RETURN(madvise, LIFECYCLE_MADVISE)
/* What these change their arguments do not tell: the map is looked at anew. */
RETURN(shmat, LIFECYCLE_OTHER_CALL)
RETURN(shmdt, LIFECYCLE_OTHER_CALL)

/* include/uapi/linux/uio.h */
struct range {
	__u64 begin;
	__u64 bytes;
};

/* include/uapi/asm-generic/mman-common.h */
#define MADV_WILLNEED 3
#define MADV_COLD 20
#define MADV_PAGEOUT 21
#define MADV_COLLAPSE 25
/* include/uapi/asm-generic/errno-base.h */
#define ENOMEM 12
/* Ranges of one call that are told one by one. */
#define MOST_RANGES 64

/* Advice that may be given on the memory of others; it takes nothing away. */
static __always_inline int is_for_others(__u32 advice)
{
	return advice == MADV_WILLNEED || advice == MADV_COLD || advice == MADV_PAGEOUT || advice == MADV_COLLAPSE;
}

/* Other advice is only let through on oneself: one record for each range, as if madvise had been called on it. */
SEC("tp/syscalls/sys_exit_process_madvise")
int exit_process_madvise(struct trace_event_raw_sys_exit *ctx)
{
	__u64 id = current_ids();
	__u32 tgid = id >> 32;
	struct target *target = changed_by(&tgid);
	struct lifecycle_record *record;
	struct pt_regs *regs;
	struct range range;
	__u64 ranges, count, left;
	__u32 advice;

	if (!target)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	ranges = PT_REGS_PARM2_CORE_SYSCALL(regs);
	count = PT_REGS_PARM3_CORE_SYSCALL(regs);
	advice = PT_REGS_PARM4_CORE_SYSCALL(regs);
	if ((ctx->ret < 0 && ctx->ret != -ENOMEM) || is_for_others(advice)) {
		COUNT(advice_elsewhere);
		return 0;
	}
	/* The call ends at the first range with a hole, in which it may have done what it could. */
	left = ctx->ret < 0 ? 0 : ctx->ret;
	for (int i = 0; i < MOST_RANGES; i++) {
		if (i >= count)
			return 0;
		if (bpf_probe_read_user(&range, sizeof(range), (void *)(ranges + i * sizeof(range))))
			break;
		record = begin(LIFECYCLE_MADVISE, target, tgid, id);
		if (record) {
			record->args[0] = range.begin;
			record->args[1] = range.bytes;
			record->args[2] = advice;
			record->result = range.bytes <= left ? 0 : -ENOMEM;
			bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
		}
		if (range.bytes > left)
			return 0;
		left -= range.bytes;
	}
	if (!left)
		return 0;
	/* What else it changed is not told: the map is looked at anew, and nothing there is sure until then. */
	record = begin(LIFECYCLE_OTHER_CALL, target, tgid, id);
	if (record)
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

/* open(2) */
#if defined(__TARGET_ARCH_arm64)
#define O_DIRECT 0200000
#else
#define O_DIRECT 040000
#endif
/* include/uapi/linux/io_uring.h */
#define IORING_REGISTER_BUFFERS 0
#define IORING_REGISTER_BUFFERS2 15
#define IORING_REGISTER_BUFFERS_UPDATE 16

/* The registers of a call of ours that returned without an error: its arguments are in them still. */
static __always_inline struct pt_regs *call_of_ours(struct trace_event_raw_sys_exit *ctx)
{
	if (ctx->ret < 0 || !target_of(current_ids() >> 32))
		return 0;
	return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

/* fcntl(2) */
#define F_SETFL 4

/* After these calls bytes are read and written past the mapping of who has them, where no watch sees it: a run says so. */
SEC("tp/syscalls/sys_exit_openat")
int exit_openat(struct trace_event_raw_sys_exit *ctx)
{
	struct pt_regs *regs = call_of_ours(ctx);

	if (regs && (PT_REGS_PARM3_CORE_SYSCALL(regs) & O_DIRECT))
		COUNT(direct_opens);
	return 0;
}

#if !defined(__TARGET_ARCH_arm64)
/* What older libraries call; arm64 has no such call. */
SEC("tp/syscalls/sys_exit_open")
int exit_open(struct trace_event_raw_sys_exit *ctx)
{
	struct pt_regs *regs = call_of_ours(ctx);

	if (regs && (PT_REGS_PARM2_CORE_SYSCALL(regs) & O_DIRECT))
		COUNT(direct_opens);
	return 0;
}
#endif

SEC("tp/syscalls/sys_exit_openat2")
int exit_openat2(struct trace_event_raw_sys_exit *ctx)
{
	struct pt_regs *regs = call_of_ours(ctx);
	/* struct open_how begins with them. */
	__u64 flags;

	if (regs && !bpf_probe_read_user(&flags, sizeof(flags), (void *)PT_REGS_PARM3_CORE_SYSCALL(regs)) &&
	    (flags & O_DIRECT))
		COUNT(direct_opens);
	return 0;
}

SEC("tp/syscalls/sys_exit_fcntl")
int exit_fcntl(struct trace_event_raw_sys_exit *ctx)
{
	struct pt_regs *regs = call_of_ours(ctx);

	if (regs && (__u32)PT_REGS_PARM2_CORE_SYSCALL(regs) == F_SETFL && (PT_REGS_PARM3_CORE_SYSCALL(regs) & O_DIRECT))
		COUNT(direct_opens);
	return 0;
}

SEC("tp/syscalls/sys_exit_io_uring_register")
int exit_io_uring_register(struct trace_event_raw_sys_exit *ctx)
{
	struct pt_regs *regs = call_of_ours(ctx);
	__u32 what;

	if (!regs)
		return 0;
	what = PT_REGS_PARM2_CORE_SYSCALL(regs);
	if (what == IORING_REGISTER_BUFFERS || what == IORING_REGISTER_BUFFERS2 || what == IORING_REGISTER_BUFFERS_UPDATE)
		COUNT(buffer_registrations);
	return 0;
}

#define COUNTED(name, field)                                                       \
	SEC("tp/syscalls/sys_exit_" #name)                                 \
	int exit_##name(struct trace_event_raw_sys_exit *ctx)              \
	{                                                                  \
		if (call_of_ours(ctx))                                     \
			COUNT(field);                                      \
		return 0;                                                  \
	}

COUNTED(vmsplice, splices)
COUNTED(process_vm_readv, process_copies)
COUNTED(process_vm_writev, process_copies)

/* raw_tp sched_process_fork(parent, child): threads too; only a new thread group is a new process. */
SEC("raw_tp/sched_process_fork")
int process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0];
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	__u32 parent_tgid = process_of(parent);
	__u32 child_tgid = process_of(child);
	struct lifecycle_record *record;
	struct target fresh = {};
	struct target *target;

	if (child_tgid == parent_tgid)
		return 0;
	target = changed_by(&parent_tgid);
	if (!target)
		return 0;
	/* Without a copy of the address space (vfork, posix_spawn) the child lives in that of its parent. */
	if (BPF_CORE_READ(child, mm) == BPF_CORE_READ(parent, mm))
		fresh.lender = parent_tgid;
	if (bpf_map_update_elem(&targets, &child_tgid, &fresh, BPF_ANY)) {
		/* Nobody will see what it does, nor what it forks. */
		COUNT(dropped_target_table);
		return 0;
	}
	record = begin(LIFECYCLE_FORK, target, parent_tgid, thread_of(parent));
	if (record) {
		record->args[0] = child_tgid;
		record->args[1] = fresh.lender ? CLONE_VM : 0;
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	}
	return 0;
}

/* raw_tp sched_process_exec(task, old_pid, bprm): the old address space is gone. */
SEC("raw_tp/sched_process_exec")
int process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 tgid = process_of(task);
	struct target *target = target_of(tgid);
	struct lifecycle_record *record;

	if (!target)
		return 0;
	target->exec_epoch++;
	target->lender = 0;
	record = begin(LIFECYCLE_EXEC, target, tgid, thread_of(task));
	if (record)
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

/* raw_tp sched_process_exit(task): per thread; the process ends with its last one. */
SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 tgid = process_of(task);
	struct target *target = target_of(tgid);
	struct lifecycle_record *record;

	if (!target || BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	record = begin(LIFECYCLE_EXIT, target, tgid, thread_of(task));
	if (record) {
		record->result = BPF_CORE_READ(task, exit_code);
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	}
	bpf_map_delete_elem(&targets, &tgid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
