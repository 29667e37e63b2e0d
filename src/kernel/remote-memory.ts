/** Read-only copies of another process's memory (process_vm_readv): the target is neither stopped nor changed. */
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { libc } from "./libc.ts";

const MAX_BYTES = 16 << 20;

/** `length` bytes at `address` of process `pid`; null where any of them cannot be read. */
export function readRemote(pid: number, address: bigint, length: number): Uint8Array | null {
  if (length <= 0 || length > MAX_BYTES || address <= 0n) return null;
  const bytes = stableBytes(length);
  const local = stableBytes(16);
  const remote = stableBytes(16);
  const localView = new DataView(local.buffer);
  const remoteView = new DataView(remote.buffer);
  localView.setBigUint64(0, BigInt(addressOf(bytes)), true);
  localView.setBigUint64(8, BigInt(length), true);
  remoteView.setBigUint64(0, address, true);
  remoteView.setBigUint64(8, BigInt(length), true);
  const copied = Number(libc.process_vm_readv(pid, addressOf(local), 1, addressOf(remote), 1, 0));
  return copied === length ? bytes.subarray(0, length) : null;
}
