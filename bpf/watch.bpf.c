/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Hardware watchpoints: one row per trap. The program stops its own register
 * by returning 1: the event was started with a refresh count of 1, and the
 * kernel disables it when a trap is let through. It says so, so that the event
 * can be started again.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* A watch traps at most some hundred times per poll. */
#define RING_BLOCKS 4
#include "targets.h"
#include "ring.h"

/* perf_event programs do not interrupt each other on one CPU. */
RING_AREA(trap, trap_block);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WATCH_SLOTS);
	__type(key, __u32);
	__type(value, struct watch_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watch_cost);
} costs SEC(".maps");

#if defined(__TARGET_ARCH_x86)
#define REGISTER_SI(ctx) ((ctx)->regs.si)
#define REGISTER_DI(ctx) ((ctx)->regs.di)
#else
#define REGISTER_SI(ctx) 0
#define REGISTER_DI(ctx) 0
#endif

#define LONGEST_INSTRUCTION 15
#define LONGEST_STEP 64
#define LONGEST_BURST 16

/* True where a register went on over the watched bytes by one element. */
static __always_inline int moved_on(struct watch_slot *slot, __u64 last, __u64 now)
{
	return now - last - 1 < LONGEST_STEP && now - slot->addr + LONGEST_STEP <= 2 * LONGEST_STEP + 8;
}

/*
 * A string instruction traps once per element: the traps after the first are
 * one access with it, and do not count against the limit.
 */
static __always_inline int continues(struct watch_slot *slot, __u64 ip, __u32 tid, __u64 si, __u64 di)
{
	if (slot->last_tid != tid || ip - slot->last_ip > LONGEST_INSTRUCTION || slot->burst >= LONGEST_BURST)
		return 0;
	return moved_on(slot, slot->last_si, si) || moved_on(slot, slot->last_di, di);
}

/* True where this process lives in the address space of the one that is watched: its accesses are to the same bytes. */
static __always_inline int is_guest(__u32 tgid, __u32 watched)
{
	struct target *target = target_of(tgid);

	return target && target->lender == watched;
}

/* Counts a trap of another process, which has its own bytes at this address; true where the register must stop. */
static __always_inline int foreign_trap(struct watch_slot *slot, struct watch_cost *cost, __u32 role, __u64 now)
{
	__u32 count = slot->foreign;

	if (role != ROLE_PAIR_W) {
		cost->foreign++;
		count = __sync_fetch_and_add(&slot->foreign, 1) + 1;
	}
	if (count < WATCH_FOREIGN_LIMIT)
		return 0;
	if (!slot->foreign_stop_ns)
		slot->foreign_stop_ns = now;
	return 1;
}

/* Takes note of a trap; 1 where the register must stop. */
static __always_inline int on_trap(struct bpf_perf_event_data *ctx, struct watch_slot *slot, struct watch_cost *cost,
				   __u32 cookie)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 id = current_ids();
	__u32 role = cookie & WATCH_COOKIE_ROLE_MASK;
	__u32 flags = 0, hits, tid = id;
	__u64 ip = PT_REGS_IP(&ctx->regs);
	__u64 si = REGISTER_SI(ctx), di = REGISTER_DI(ctx);
	int same;

	/* One exception runs both programs of a pair: charge it once. */
	if (role != ROLE_PAIR_W)
		cost->traps++;
	if (slot->generation != cookie >> WATCH_COOKIE_GENERATION_SHIFT) {
		cost->stale++;
		return 1;
	}
	if ((__u32)(id >> 32) != slot->pid && !is_guest(id >> 32, slot->pid))
		return foreign_trap(slot, cost, role, now);
	if (!READ_ONCE(slot->armed)) {
		cost->early++;
		return __sync_fetch_and_add(&slot->early, 1) + 1 >= WATCH_EARLY_LIMIT;
	}
	if (ip >> 63 && reads_for_us(id)) {
		/* Traps of stores are none of these, so that a pair counts each once. */
		cost->probed++;
		slot->probed_ns = now;
		__sync_fetch_and_add(&slot->probed, 1);
		return 0;
	}
	same = continues(slot, ip, tid, si, di);
	if (role == ROLE_PAIR_W) {
		/* It runs before or after its RW twin; past the limit it has none. */
		hits = READ_ONCE(slot->hits) + !same;
		if (hits > slot->limit + 1)
			return 1;
	} else {
		slot->last_ip = ip;
		slot->last_si = si;
		slot->last_di = di;
		slot->last_tid = tid;
		slot->burst = same ? slot->burst + 1 : 0;
		if (same) {
			hits = READ_ONCE(slot->hits);
			if (hits >= slot->limit) {
				cost->beyond++;
				return 1;
			}
			__sync_fetch_and_add(&slot->continued, 1);
		} else {
			hits = __sync_fetch_and_add(&slot->hits, 1) + 1;
			if (hits > slot->limit) {
				cost->beyond++;
				return 1;
			}
		}
	}
	if (hits >= slot->limit)
		flags |= TRAP_STOPPED;
	if (ip >> 63) {
		flags |= TRAP_IN_KERNEL;
		if (role != ROLE_PAIR_W)
			__sync_fetch_and_add(&slot->kernel, 1);
	}
	RING_ROW(trap, now, return hits >= slot->limit);
	RING_PUT(timestamp_ns, now);
	RING_PUT(ip, ip);
	RING_PUT(register_si, si);
	RING_PUT(register_di, di);
	RING_PUT(pid, id >> 32);
	RING_PUT(tid, tid);
	RING_PUT(cookie, cookie);
	RING_PUT(trap_flags, flags);
	RING_COMMIT();
	return hits >= slot->limit;
}

SEC("perf_event")
int watch_trap(struct bpf_perf_event_data *ctx)
{
	__u32 cookie = bpf_get_attach_cookie(ctx);
	__u32 slot_index = (cookie >> WATCH_COOKIE_SLOT_SHIFT) & (WATCH_SLOTS - 1);
	__u32 cpu = bpf_get_smp_processor_id();
	struct watch_slot *slot = bpf_map_lookup_elem(&slots, &slot_index);
	struct watch_cost *cost = bpf_map_lookup_elem(&costs, &cpu);

	if (!slot || !cost)
		return 1;
	if (!on_trap(ctx, slot, cost, cookie))
		return 0;
	/* Who starts it again must know that it stopped. */
	if ((cookie & WATCH_COOKIE_ROLE_MASK) == ROLE_PAIR_W)
		__sync_fetch_and_or(&cost->stopped_w, 1ULL << slot_index);
	else
		__sync_fetch_and_or(&cost->stopped, 1ULL << slot_index);
	return 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
