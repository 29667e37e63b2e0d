/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kernel types that the programs touch, and no more: CO-RE finds the true offsets at load. */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__ /* the name that libbpf's headers look for */

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
typedef int pid_t;

#define true 1
#define false 0

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_MMAPABLE = 1024,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

enum pid_type {
	PIDTYPE_PID,
	PIDTYPE_TGID,
	PIDTYPE_PGID,
	PIDTYPE_SID,
	PIDTYPE_MAX,
};

struct signal_struct {
	atomic_t live;
	struct pid *pids[PIDTYPE_MAX];
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
	unsigned long gsbase;
};
#endif

struct mm_struct;

struct task_struct {
	struct mm_struct *mm;
	pid_t pid;
	pid_t tgid;
	int exit_code;
	struct signal_struct *signal;
	struct pid *thread_pid;
#if defined(__TARGET_ARCH_x86)
	struct thread_struct thread;
#endif
};

union perf_sample_weight {
	__u64 full;
};

union perf_mem_data_src {
	__u64 val;
};

struct perf_sample_data {
	__u64 sample_flags;
	__u64 period;
	__u64 addr;
	union perf_sample_weight weight;
	union perf_mem_data_src data_src;
};

struct hw_perf_event {
	__u64 interrupts;
};

struct perf_event {
	struct hw_perf_event hw;
};

struct bpf_perf_event_data_kern {
	struct perf_sample_data *data;
	struct perf_event *event;
};

#pragma clang attribute pop

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
} __attribute__((preserve_access_index));
typedef struct pt_regs bpf_user_pt_regs_t;
#else
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};
struct pt_regs {
	struct user_pt_regs user_regs;
} __attribute__((preserve_access_index));
typedef struct user_pt_regs bpf_user_pt_regs_t;
#endif

struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

/* The head of every tracepoint record, then its own fields. */
struct trace_entry {
	unsigned short type;
	unsigned char flags;
	unsigned char preempt_count;
	int pid;
};

struct trace_event_raw_sys_enter {
	struct trace_entry ent;
	long id;
	unsigned long args[6];
} __attribute__((preserve_access_index));

struct trace_event_raw_sys_exit {
	struct trace_entry ent;
	long id;
	long ret;
} __attribute__((preserve_access_index));

#endif
