/** The numbers by which processes are known here: in a container they are not the kernel's own, and programs are told so. */
import { readlinkSync } from "node:fs";
import { MrmTraceError } from "../errors.ts";
import { recordLayout } from "../schema/records.ts";
import { loadBpfObject } from "./bpf-object.ts";
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { errno, errnoName, libc } from "./libc.ts";

/** PROC_PID_INIT_INO of include/linux/proc_ns.h. */
export const INITIAL_PID_NAMESPACE = "pid:[4026531836]";

const SYS_BPF = process.arch === "arm64" ? 280 : 321;
const BPF_PROG_RUN = 10;
/** union bpf_attr, struct `test` (include/uapi/linux/bpf.h): ctx_size_in at 40, ctx_in at 48. */
const RUN_ATTR_BYTES = 80;
const LAYOUT = recordLayout("pid_view");

function refused(why: string): MrmTraceError {
  return new MrmTraceError(
    "environment",
    `which pids this container has could not be asked of the kernel: ${why}`,
    "run mrm-trace on the host and attach to the pid that the host shows",
  );
}

/** Asks a program that runs in this very thread, so that what it reads of a process is compared with what we know of it. */
async function locate(): Promise<Uint8Array> {
  using object = await loadBpfObject("pids");
  const attr = stableBytes(RUN_ATTR_BYTES);
  const view = stableBytes(LAYOUT.bytes);
  const words = new DataView(attr.buffer);
  words.setUint32(0, object.program("locate_pids").fd, true);
  words.setUint32(40, view.length, true);
  words.setBigUint64(48, BigInt(addressOf(view)), true);
  if (libc.syscall(SYS_BPF, BPF_PROG_RUN, addressOf(attr), RUN_ATTR_BYTES, 0, 0, 0) !== 0n)
    throw refused(errnoName(errno()));
  const pid = new DataView(view.buffer).getUint32(LAYOUT.offsets.pid, true);
  if (pid !== process.pid) throw refused(`it calls this process ${pid}, which is ${process.pid} here`);
  return view;
}

function isInitial(): boolean {
  try {
    return readlinkSync("/proc/self/ns/pid") === INITIAL_PID_NAMESPACE;
  } catch {
    // A kernel without namespaces of pids has no others.
    return true;
  }
}

let asked: Promise<Uint8Array | null> | undefined;

/**
 * What programs are told before they are loaded, as struct pid_view; null where the kernel's own numbers are ours.
 * @throws MrmTraceError environment, where the kernel does not say
 */
export function pidView(): Promise<Uint8Array | null> {
  asked ??= isInitial() ? Promise.resolve(null) : locate();
  return asked;
}
