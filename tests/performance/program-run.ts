/** Runs a BPF program of type syscall by hand, and pins threads: what a benchmark of the rings needs. */
import { addressOf, stableBytes } from "../../src/kernel/foreign-memory.ts";
import { errno, errnoName, libc } from "../../src/kernel/libc.ts";

/** System calls by number: x86-64 and arm64 (asm/unistd_64.h, asm-generic/unistd.h). */
const CALLS = process.arch === "arm64" ? { bpf: 280, sched_setaffinity: 122 } : { bpf: 321, sched_setaffinity: 203 };
const BPF_PROG_RUN = 10;
/** union bpf_attr, struct `test` (include/uapi/linux/bpf.h): ctx_size_in at 40, ctx_in at 48. */
const ATTR_BYTES = 80;

/** A function that runs the program behind `fd` for so many rows, on the CPU of the calling thread. */
export function programRunner(fd: number): (rows: number) => void {
  const attr = stableBytes(ATTR_BYTES);
  const request = stableBytes(8);
  const view = new DataView(attr.buffer);
  const rowsView = new DataView(request.buffer);
  view.setUint32(0, fd, true);
  view.setUint32(40, request.length, true);
  view.setBigUint64(48, BigInt(addressOf(request)), true);
  return (rows) => {
    rowsView.setUint32(0, rows, true);
    if (Number(libc.syscall(CALLS.bpf, BPF_PROG_RUN, addressOf(attr), ATTR_BYTES, 0, 0, 0)) !== 0) {
      throw new Error(`running the BPF program failed: ${errnoName(errno())}`);
    }
  };
}

/** Binds the calling thread to one CPU. */
export function pinThread(cpu: number): void {
  const mask = stableBytes(128);
  mask[cpu >> 3] = 1 << (cpu & 7);
  if (Number(libc.syscall(CALLS.sched_setaffinity, 0, mask.length, addressOf(mask), 0, 0, 0)) !== 0) {
    throw new Error(`binding a thread to CPU ${cpu} failed: ${errnoName(errno())}`);
  }
}
