/** perf_event_open: the attribute, the call and the ioctls (include/uapi/linux/perf_event.h). */
import { MrmTraceError } from "../errors.ts";
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { errno, errnoName, type Fd, libc, ownFd } from "./libc.ts";

const SYS_PERF_EVENT_OPEN = process.arch === "arm64" ? 241 : 298;
const PERF_FLAG_FD_CLOEXEC = 8;
const ATTR_BYTES = 128;
const PRECISE_IP_SHIFT = 15n;

export const PERF_TYPE = { hardware: 0, software: 1, tracepoint: 2, breakpoint: 5 } as const;
export const SOFTWARE = { cpu_clock: 0, page_faults: 2, page_faults_min: 5, page_faults_maj: 6, dummy: 9 } as const;
export const SAMPLE = {
  ip: 1,
  tid: 2,
  time: 4,
  addr: 8,
  id: 0x40,
  cpu: 0x80,
  weight: 0x4000,
  data_src: 0x8000,
  weight_struct: 0x1000000,
} as const;
/** What read(2) of an event gives after its count. */
export const READ_FORMAT = { total_time_enabled: 1, total_time_running: 2 } as const;
export const IOC = {
  enable: 0x2400,
  disable: 0x2401,
  refresh: 0x2402,
  reset: 0x2403,
  set_output: 0x2405,
  period: 0x40082404,
  set_bpf: 0x40042408,
  modify_attributes: 0x4008240b,
} as const;
/** Bit numbers of the flag word at offset 40. */
export const FLAG = {
  disabled: 0,
  inherit: 1,
  exclude_user: 4,
  exclude_kernel: 5,
  exclude_hv: 6,
  exclude_idle: 7,
  mmap: 8,
  comm: 9,
  freq: 10,
  task: 13,
  watermark: 14,
  mmap_data: 17,
  sample_id_all: 18,
  exclude_guest: 20,
  mmap2: 23,
  use_clockid: 25,
} as const;

export interface PerfAttr {
  readonly type: number;
  readonly config: number | bigint;
  /** Fields of a PMU whose format names config1 and config2; a breakpoint has its address and length there. */
  readonly config1?: bigint;
  readonly config2?: bigint;
  /** 0 to 3: how near to the sampled instruction the kernel must be. */
  readonly precise_ip?: number;
  /** Sum of READ_FORMAT. */
  readonly read_format?: number;
  /** Period, or frequency where the flag freq is set. */
  readonly sample_period: number;
  readonly sample_type?: number;
  readonly flags: readonly (keyof typeof FLAG)[];
  readonly wakeup?: number;
  readonly bp_type?: number;
  readonly bp_addr?: bigint;
  readonly bp_len?: number;
  /** CLOCK_MONOTONIC = 1; needs the flag use_clockid. */
  readonly clockid?: number;
}

/** struct perf_event_attr, 128 bytes. */
export function perfAttrBytes(attr: PerfAttr): Uint8Array<ArrayBuffer> {
  const bytes = stableBytes(ATTR_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, attr.type, true);
  view.setUint32(4, ATTR_BYTES, true);
  view.setBigUint64(8, BigInt(attr.config), true);
  view.setBigUint64(16, BigInt(attr.sample_period), true);
  view.setBigUint64(24, BigInt(attr.sample_type ?? 0), true);
  view.setBigUint64(32, BigInt(attr.read_format ?? 0), true);
  let flags = 0n;
  for (const flag of attr.flags) flags |= 1n << BigInt(FLAG[flag]);
  flags |= BigInt((attr.precise_ip ?? 0) & 3) << PRECISE_IP_SHIFT;
  view.setBigUint64(40, flags, true);
  view.setUint32(48, attr.wakeup ?? 0, true);
  view.setUint32(52, attr.bp_type ?? 0, true);
  view.setBigUint64(56, attr.bp_addr ?? attr.config1 ?? 0n, true);
  view.setBigUint64(64, attr.config2 ?? BigInt(attr.bp_len ?? 0), true);
  view.setInt32(92, attr.clockid ?? 0, true);
  return bytes;
}

export type PerfEventResult =
  | { readonly ok: true; readonly event: Fd }
  | { readonly ok: false; readonly errno: number };

/**
 * Opens a perf event; a refusal is a result, because ENOSPC and ESRCH are ordinary answers.
 * @param groupFd fd of the group's leader, -1 for none
 */
export function tryPerfEventOpen(attr: PerfAttr, pid: number, cpu: number, groupFd = -1): PerfEventResult {
  const bytes = perfAttrBytes(attr);
  const fd = Number(
    libc.syscall(
      SYS_PERF_EVENT_OPEN,
      addressOf(bytes),
      asU64(pid),
      asU64(cpu),
      asU64(groupFd),
      PERF_FLAG_FD_CLOEXEC,
      0,
    ),
  );
  return fd < 0 ? { ok: false, errno: errno() } : { ok: true, event: ownFd(fd) };
}

/** Opens a perf event. @throws MrmTraceError environment, with errno and the fix */
export function perfEventOpen(attr: PerfAttr, pid: number, cpu: number, what: string): Fd {
  const result = tryPerfEventOpen(attr, pid, cpu);
  if (result.ok) return result.event;
  throw new MrmTraceError(
    "environment",
    `opening the perf event for ${what} (pid ${pid}, cpu ${cpu}) failed: ${errnoName(result.errno)}`,
    result.errno === 1 || result.errno === 13
      ? "run as root, or: sysctl kernel.perf_event_paranoid=-1"
      : "check that the kernel has CONFIG_PERF_EVENTS and that the process still runs",
  );
}

/** What an event counted, and how long it was enabled and on the PMU, in ns. */
export interface PerfCount {
  readonly count: bigint;
  readonly enabledNs: bigint;
  readonly runningNs: bigint;
}

/** Reads an event that was opened with both times in its read_format; null where the kernel refuses. */
export function readPerfCount(event: Fd): PerfCount | null {
  const bytes = stableBytes(24);
  if (libc.read(event.fd, addressOf(bytes), 24) !== 24n) return null;
  const view = new DataView(bytes.buffer);
  return {
    count: view.getBigUint64(0, true),
    enabledNs: view.getBigUint64(8, true),
    runningNs: view.getBigUint64(16, true),
  };
}

/** Sets the period of the samples to come; false where the kernel refuses. */
export function setPerfPeriod(event: Fd, period: number): boolean {
  const bytes = stableBytes(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(period), true);
  return perfIoctl(event, IOC.period, addressOf(bytes));
}

/** ioctl on a perf event; false where the kernel refused. */
export function perfIoctl(event: Fd, request: number, argument = 0): boolean {
  return libc.ioctl(event.fd, request, argument) >= 0;
}

function asU64(value: number): bigint {
  return BigInt.asUintN(64, BigInt(value));
}
