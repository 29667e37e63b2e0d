/** One link for many uprobes of one file (Linux 6.6): it detaches in one grace period, where single links take one each. */
import { refusal } from "./bpf-error.ts";
import { addressOf, cString, stableBytes } from "./foreign-memory.ts";
import { errno, errnoName, type Fd, libc, ownFd } from "./libc.ts";

/** BPF_TRACE_UPROBE_MULTI of include/uapi/linux/bpf.h. */
export const UPROBE_MULTI = 48;
const BPF_LINK_CREATE = 28;
const BPF_F_UPROBE_MULTI_RETURN = 1;
/** The uprobe_multi part of union bpf_attr ends here. */
const ATTR_BYTES = 64;
const SYS_BPF = process.arch === "arm64" ? 280 : 321;

export interface UprobeMultiPlaces {
  readonly path: string;
  readonly isReturn: boolean;
  /** Offsets in the file, each with the cookie of its probe. */
  readonly places: readonly { readonly offset: bigint; readonly cookie: bigint }[];
}

function create(programFd: number, { path, isReturn, places }: UprobeMultiPlaces): number {
  const name = cString(path);
  const offsets = stableBytes(places.length * 8);
  const cookies = stableBytes(places.length * 8);
  for (const [i, { offset, cookie }] of places.entries()) {
    new DataView(offsets.buffer).setBigUint64(i * 8, offset, true);
    new DataView(cookies.buffer).setBigUint64(i * 8, cookie, true);
  }
  const attr = stableBytes(ATTR_BYTES);
  const view = new DataView(attr.buffer);
  view.setUint32(0, programFd, true);
  view.setUint32(8, UPROBE_MULTI, true);
  view.setBigUint64(16, BigInt(addressOf(name)), true);
  view.setBigUint64(24, BigInt(addressOf(offsets)), true);
  view.setBigUint64(40, BigInt(addressOf(cookies)), true);
  view.setUint32(48, places.length, true);
  view.setUint32(52, isReturn ? BPF_F_UPROBE_MULTI_RETURN : 0, true);
  return Number(libc.syscall(SYS_BPF, BPF_LINK_CREATE, addressOf(attr), ATTR_BYTES, 0, 0, 0));
}

/**
 * Whether the kernel knows these links, asked with a program loaded for them: a folder in place of a file is refused
 * with EBADF by a kernel that does, with EINVAL by one that does not.
 */
export function supportsUprobeMulti(programFd: number): boolean {
  const fd = create(programFd, { path: "/", isReturn: false, places: [{ offset: 0n, cookie: 0n }] });
  if (fd >= 0) ownFd(fd)[Symbol.dispose]();
  return fd >= 0 || errnoName(errno()) === "EBADF";
}

/** Attaches a program to all places of a file, for every process that maps it. @throws MrmTraceError environment */
export function linkUprobeMulti(programFd: number, places: UprobeMultiPlaces): Fd {
  const fd = create(programFd, places);
  if (fd >= 0) return ownFd(fd);
  throw refusal(`probing ${places.places.length} functions of ${places.path}`, errno(), "");
}
