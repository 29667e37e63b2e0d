/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ids of tasks as the /proc of the tracer shows them. In a container those are not the kernel's own: a task has a number
 * in its pid namespace and in each one above it, and that of the tracer's namespace is asked for.
 */
#ifndef MRM_IDS_H
#define MRM_IDS_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "columns.gen.h"

/* Written before load and frozen, so that the verifier leaves out what outside of containers is never taken. */
const volatile struct pid_view pid_view SEC(".rodata.pids");

/* One number of a struct pid, as in include/linux/pid.h; user space checks on itself that it lies so. */
struct numbered {
	int nr;
	__u64 ns;
};

static __always_inline bool number_at(struct pid *pid, __u32 level, struct numbered *out)
{
	__u64 from = (__u64)pid + bpf_core_field_offset(struct pid, numbers) + level * sizeof(*out);

	return !bpf_probe_read_kernel(out, sizeof(*out), (void *)from);
}

/*
 * The number that the tracer's /proc shows; 0, which no process has, where it shows none: the task lies above its
 * namespace or beside it, or was reaped.
 */
static __always_inline __u32 shown_number(struct pid *pid, __u32 deepest)
{
	struct numbered number;

	return deepest >= pid_view.level && number_at(pid, pid_view.level, &number) && number.ns == pid_view.ns ? number.nr : 0;
}

/* As bpf_get_current_pid_tgid: the number of the process above, that of the thread below. */
static __always_inline __u64 current_ids(void)
{
	struct task_struct *task;
	struct pid *process, *thread;
	__u32 shown;

	if (!pid_view.level)
		return bpf_get_current_pid_tgid();
	task = bpf_get_current_task_btf();
	process = task->signal->pids[PIDTYPE_TGID];
	shown = shown_number(process, process->level);
	if (!shown)
		return 0;
	thread = task->thread_pid;
	return (__u64)shown << 32 | shown_number(thread, thread->level);
}

static __always_inline __u32 process_of(struct task_struct *task)
{
	struct pid *process;

	if (!pid_view.level)
		return BPF_CORE_READ(task, tgid);
	process = BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);
	return shown_number(process, BPF_CORE_READ(process, level));
}

static __always_inline __u32 thread_of(struct task_struct *task)
{
	struct pid *thread;

	if (!pid_view.level)
		return BPF_CORE_READ(task, pid);
	thread = BPF_CORE_READ(task, thread_pid);
	return shown_number(thread, BPF_CORE_READ(thread, level));
}

#endif
