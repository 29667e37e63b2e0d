/** Hardware watchpoints as perf events: opened disabled on one CPU, linked to a program with a cookie, then let go. */
import { MrmTraceError } from "../errors.ts";
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { errno, errnoName, type Fd, libc, ownFd } from "./libc.ts";
import {
  IOC,
  PERF_TYPE,
  type PerfAttr,
  type PerfEventResult,
  perfAttrBytes,
  perfIoctl,
  SAMPLE,
  setPerfPeriod,
  tryPerfEventOpen,
} from "./perf-event.ts";

/** What traps: HW_BREAKPOINT_W and HW_BREAKPOINT_RW; x86 has no read-only kind. */
export const WATCHPOINT = { write: 2, read_write: 3 } as const;

const SYS_BPF = process.arch === "arm64" ? 280 : 321;
const BPF_LINK_CREATE = 28;
const BPF_PERF_EVENT = 41;
const LINK_ATTR_BYTES = 64;

/**
 * The attribute of a watchpoint on `size_bytes` (1, 2, 4 or 8, aligned) at `addr`: every access traps.
 * The kernel is not excluded: its accesses would trap all the same, and leave no record.
 */
export function watchpointAttr(addr: bigint, size_bytes: number, kind: number): PerfAttr {
  return {
    type: PERF_TYPE.breakpoint,
    config: 0,
    sample_period: 1,
    sample_type: SAMPLE.addr,
    flags: ["disabled", "exclude_hv"],
    bp_type: kind,
    bp_addr: addr,
    bp_len: size_bytes,
  };
}

/** Takes a register of `cpu`, for every process that runs there; ENOSPC says that all are taken. */
export function openWatchpoint(addr: bigint, size_bytes: number, kind: number, cpu: number): PerfEventResult {
  return tryPerfEventOpen(watchpointAttr(addr, size_bytes, kind), -1, cpu);
}

/**
 * Runs a program on every overflow of a perf event, with `cookie` for bpf_get_attach_cookie; the event stays disabled.
 * libbpf's own attach would enable it.
 * @throws MrmTraceError environment
 */
export function linkPerfEvent(programFd: number, event: Fd, cookie: number): Fd {
  const attr = stableBytes(LINK_ATTR_BYTES);
  const view = new DataView(attr.buffer);
  view.setUint32(0, programFd, true);
  view.setUint32(4, event.fd, true);
  view.setUint32(8, BPF_PERF_EVENT, true);
  view.setBigUint64(16, BigInt(cookie), true);
  const fd = Number(libc.syscall(SYS_BPF, BPF_LINK_CREATE, addressOf(attr), LINK_ATTR_BYTES, 0, 0, 0));
  if (fd >= 0) return ownFd(fd);
  throw new MrmTraceError(
    "environment",
    `linking a program to a watchpoint failed: ${errnoName(errno())}`,
    "use Linux 5.15 or later, as root or with CAP_BPF and CAP_PERFMON",
  );
}

/** Enables a watchpoint for `overflows` that its program lets through (returns 1 for), after which it disables itself. */
export function refreshWatchpoint(event: Fd, overflows: number): boolean {
  return perfIoctl(event, IOC.refresh, overflows);
}

/**
 * Gives a watchpoint that is disabled another address. It holds its register all the time, and takes no lock unless its kind
 * changes (kernel/events/hw_breakpoint.c, modify_bp_slot); false where the kernel refuses.
 */
export function retargetWatchpoint(event: Fd, addr: bigint, size_bytes: number, kind: number): boolean {
  return perfIoctl(event, IOC.modify_attributes, addressOf(perfAttrBytes(watchpointAttr(addr, size_bytes, kind))));
}

/**
 * Enables a watchpoint again. Where it disabled itself it needs an overflow more, as those that are left add up. The kernel has stopped it
 * besides, and what enables it does not start it: it would trap and tell nothing. To set the period, which stays 1, does.
 * @param isSpent it disabled itself
 */
export function beginWatchpoint(event: Fd, isSpent: boolean): void {
  if (!isSpent) {
    perfIoctl(event, IOC.enable);
    return;
  }
  perfIoctl(event, IOC.refresh, 1);
  setPerfPeriod(event, 1);
}

/** Disables a watchpoint, which keeps its register: when it returns nothing traps any more. */
export function stopWatchpoint(event: Fd): void {
  perfIoctl(event, IOC.disable);
}
