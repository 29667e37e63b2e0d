/** Memory of the kernel mapped into this process, as one ArrayBuffer that is unmapped once. */
import { type Pointer, toArrayBuffer } from "bun:ffi";
import { MrmTraceError } from "../errors.ts";
import { errno, errnoName, libc, PAGE_BYTES } from "./libc.ts";

const PROT_READ = 1;
const PROT_WRITE = 2;
const MAP_SHARED = 1;

export interface Mapped extends Disposable {
  readonly buffer: ArrayBuffer;
  readonly address: number;
}

/**
 * Maps `bytes` of `fd` at `offset_bytes`, rounded up to whole pages.
 * The buffer must not be touched after disposal: no finaliser guards it.
 * @throws MrmTraceError environment
 */
export function mapFd(fd: number, bytes: number, options: { offset_bytes?: number; write: boolean }): Mapped {
  const length = Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
  const prot = options.write ? PROT_READ | PROT_WRITE : PROT_READ;
  const address = Number(libc.mmap(0, length, prot, MAP_SHARED, fd, options.offset_bytes ?? 0));
  if (address === -1) {
    const name = errnoName(errno());
    throw new MrmTraceError(
      "environment",
      `mapping ${length} bytes of kernel memory failed: ${name}`,
      "run as root; where it says ENOMEM, free memory or raise the memory limit of the cgroup",
    );
  }
  let mapped = true;
  return {
    buffer: toArrayBuffer(address as Pointer, 0, length),
    address,
    [Symbol.dispose]() {
      if (!mapped) return;
      mapped = false;
      libc.munmap(address, length);
    },
  };
}
