/** The libc functions we call, C names word for word, and errno as words. */
import { dlopen, FFIType, type Pointer, read } from "bun:ffi";
import { close, readFileSync } from "node:fs";
import { MrmTraceError } from "../errors.ts";
import { addressOf, stableBytes } from "./foreign-memory.ts";

const { i32, u32, u64, i64, ptr: pointer } = FFIType;

/** Variadic functions are declared with fixed arguments: safe on Linux x86-64 and arm64. */
if (!readFileSync("/proc/self/maps", "latin1").includes("/libc.so.6")) {
  // Named all the same, bun:ffi would take one from the folder one stands in.
  throw new MrmTraceError("environment", "this Bun runs without glibc", "install Bun for glibc: https://bun.sh");
}
const library = dlopen("libc.so.6", {
  __errno_location: { args: [], returns: pointer },
  syscall: { args: [i64, u64, u64, u64, u64, u64, u64], returns: i64 },
  ioctl: { args: [i32, u64, u64], returns: i32 },
  mmap: { args: [u64, u64, i32, i32, i32, i64], returns: i64 },
  mount: { args: [pointer, pointer, pointer, u64, pointer], returns: i32 },
  munmap: { args: [u64, u64], returns: i32 },
  memfd_create: { args: [pointer, u32], returns: i32 },
  dlopen: { args: [pointer, i32], returns: i64 },
  fcntl: { args: [i32, i32, u64], returns: i32 },
  close: { args: [i32], returns: i32 },
  read: { args: [i32, pointer, u64], returns: i64 },
  clock_gettime: { args: [i32, pointer], returns: i32 },
  clock_getres: { args: [i32, pointer], returns: i32 },
  process_vm_readv: { args: [i32, pointer, u64, pointer, u64, u64], returns: i64 },
  sched_getaffinity: { args: [i32, u64, pointer], returns: i32 },
  sched_getscheduler: { args: [i32], returns: i32 },
  sched_setscheduler: { args: [i32, i32, pointer], returns: i32 },
  sched_setaffinity: { args: [i32, u64, pointer], returns: i32 },
  setfsuid: { args: [u32], returns: u32 },
  setfsgid: { args: [u32], returns: u32 },
  setgroups: { args: [u64, pointer], returns: i32 },
  setresgid: { args: [u32, u32, u32], returns: i32 },
  setresuid: { args: [u32, u32, u32], returns: i32 },
  vsnprintf: { args: [pointer, u64, pointer, pointer], returns: i32 },
  getpagesize: { args: [], returns: u32 },
});

export const libc = library.symbols;

const NAMES: Record<number, string> = {
  1: "EPERM",
  2: "ENOENT",
  3: "ESRCH",
  4: "EINTR",
  7: "E2BIG",
  9: "EBADF",
  11: "EAGAIN",
  12: "ENOMEM",
  13: "EACCES",
  14: "EFAULT",
  16: "EBUSY",
  17: "EEXIST",
  19: "ENODEV",
  20: "ENOTDIR",
  22: "EINVAL",
  24: "EMFILE",
  27: "EFBIG",
  28: "ENOSPC",
  38: "ENOSYS",
  61: "ENODATA",
  71: "EPROTO",
  95: "EOPNOTSUPP",
  110: "ETIMEDOUT",
  524: "ENOTSUPP",
};

/** Name of an errno value, such as EPERM, else its number. */
export function errnoName(errno: number): string {
  return NAMES[errno] ?? `errno ${errno}`;
}

/** errno of this thread; read it directly after the call that failed. */
export function errno(): number {
  const location = libc.__errno_location();
  return location === null ? 0 : read.i32(location);
}

/** Page size of this machine in bytes. */
export const PAGE_BYTES = libc.getpagesize();

const CLOCK_THREAD_CPUTIME_ID = 3;
const timespec = new BigInt64Array(new ArrayBuffer(16));
const timespecAt = addressOf(timespec);

/** Now, in ns of CLOCK_MONOTONIC: the clock of bpf_ktime_get_ns and of every timestamp here. */
export function monotonicNs(): bigint {
  libc.clock_gettime(1, timespecAt);
  return (timespec[0] ?? 0n) * 1_000_000_000n + (timespec[1] ?? 0n);
}

/** CLOCK_REALTIME in ns: wall time, which may be set. Only to map what others wrote onto `monotonicNs`. */
export function realtimeNs(): bigint {
  libc.clock_gettime(0, timespecAt);
  return (timespec[0] ?? 0n) * 1_000_000_000n + (timespec[1] ?? 0n);
}

/** CPU time of this thread in ns, kernel work on its behalf included. */
export function threadCpuNs(): number {
  libc.clock_gettime(CLOCK_THREAD_CPUTIME_ID, timespecAt);
  return Number(timespec[0] ?? 0n) * 1e9 + Number(timespec[1] ?? 0n);
}

const CLOCK_MONOTONIC_COARSE = 6;

/** Time between two ticks of the kernel, in ns: the step of its coarse clock (kernel/time/posix-timers.c). */
export function tickNs(): number {
  libc.clock_getres(CLOCK_MONOTONIC_COARSE, timespecAt);
  return Number(timespec[0] ?? 0n) * 1e9 + Number(timespec[1] ?? 0n);
}

/** A file descriptor that is closed once. */
export interface Fd extends Disposable {
  readonly fd: number;
  /**
   * Closed by another thread, a moment later: the kernel may let whoever closes it wait, as for grace periods of RCU.
   * @param closed called when that is done
   */
  closeAside(closed?: () => void): void;
}

/** What close(2) refuses, it has closed all the same. */
const CLOSED = (): void => {};

/** Owns a file descriptor: closes it when disposed. */
export function ownFd(fd: number): Fd {
  let open = true;
  const closeOnce = (by: (fd: number) => void): void => {
    if (!open) return;
    open = false;
    by(fd);
  };
  return {
    fd,
    closeAside: (closed = CLOSED) => closeOnce(() => close(fd, () => closed())),
    [Symbol.dispose]: () => closeOnce(libc.close),
  };
}

/** CPUs on which a process may run, from its affinity mask; 0 for this process. Empty if it is gone. */
export function affinityCpus(pid: number): number[] {
  const mask = stableBytes(1024);
  if (libc.sched_getaffinity(pid, mask.length, addressOf(mask)) !== 0) return [];
  const cpus: number[] = [];
  for (let i = 0; i < mask.length; i++) {
    const byte = mask[i] ?? 0;
    if (byte === 0) continue;
    for (let bit = 0; bit < 8; bit++) if ((byte >> bit) & 1) cpus.push(8 * i + bit);
  }
  return cpus;
}

export type { Pointer };
