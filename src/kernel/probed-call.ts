/** A function of our own in a file of our own, to time what a probe costs without probing anybody else. */
import { CFunction, type Pointer } from "bun:ffi";
import { writeSync } from "node:fs";
import { addressOf, cString } from "./foreign-memory.ts";
import { libc, ownFd } from "./libc.ts";

const SYS_MEMFD_CREATE = 319;
const PROT_READ_EXECUTE = 5;
const MAP_PRIVATE = 2;
const FILE_BYTES = 4096;
/** push rbp; pop rbp; ret: a function that begins as most do. */
const CODE = [0x55, 0x5d, 0xc3];

export interface ProbedCall extends Disposable {
  /** Path of the file, as this process can open it; the function is at offset 0. */
  readonly path: string;
  call(): void;
}

/** Null where the processor is another, or executable memory of a file is refused. */
export function openProbedCall(): ProbedCall | null {
  if (process.arch !== "x64") return null;
  const fd = Number(libc.syscall(SYS_MEMFD_CREATE, addressOf(cString("mrm-trace-probe")), 0, 0, 0, 0, 0));
  if (fd < 0) return null;
  const owned = new DisposableStack();
  owned.use(ownFd(fd));
  const bytes = new Uint8Array(FILE_BYTES);
  bytes.set(CODE);
  writeSync(fd, bytes);
  const address = Number(libc.mmap(0, FILE_BYTES, PROT_READ_EXECUTE, MAP_PRIVATE, fd, 0));
  if (address === -1) {
    owned.dispose();
    return null;
  }
  owned.defer(() => libc.munmap(address, FILE_BYTES));
  const call = CFunction({ ptr: address as Pointer, args: [], returns: "void" });
  return {
    path: `/proc/self/fd/${fd}`,
    call: () => void call(),
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
