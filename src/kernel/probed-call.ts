/** Functions of our own in a file of our own, to time what a probe costs without probing anybody else. */
import { CFunction, type Pointer } from "bun:ffi";
import { writeSync } from "node:fs";
import { addressOf, cString } from "./foreign-memory.ts";
import { libc, ownFd } from "./libc.ts";

const SYS_MEMFD_CREATE = 319;
const PROT_READ_EXECUTE = 5;
const MAP_PRIVATE = 2;
const FILE_BYTES = 4096;
/** push rbp; pop rbp; ret: a function that begins as most do, and with what the kernel carries out itself. */
const CARRIED_OUT = [0x55, 0x5d, 0xc3];
/** mov rax, rdi; ret: one of which the processor steps over the first instruction. */
const STEPPED = [0x48, 0x89, 0xf8, 0xc3];
const STEPPED_OFFSET = 64;

/** One function. */
export interface ProbedCall {
  /** In the file. */
  readonly offset: bigint;
  call(): void;
}

export interface ProbedCalls extends Disposable {
  /** Path of the file, as this process can open it. */
  readonly path: string;
  /** Begins with what the kernel carries out itself. */
  readonly carriedOut: ProbedCall;
  /** Begins with what the processor steps over. */
  readonly stepped: ProbedCall;
}

/** Null where the processor is another, or executable memory of a file is refused. */
export function openProbedCalls(): ProbedCalls | null {
  if (process.arch !== "x64") return null;
  const fd = Number(libc.syscall(SYS_MEMFD_CREATE, addressOf(cString("mrm-trace-probe")), 0, 0, 0, 0, 0));
  if (fd < 0) return null;
  const owned = new DisposableStack();
  owned.use(ownFd(fd));
  const bytes = new Uint8Array(FILE_BYTES);
  bytes.set(CARRIED_OUT);
  bytes.set(STEPPED, STEPPED_OFFSET);
  writeSync(fd, bytes);
  const address = Number(libc.mmap(0, FILE_BYTES, PROT_READ_EXECUTE, MAP_PRIVATE, fd, 0));
  if (address === -1) {
    owned.dispose();
    return null;
  }
  owned.defer(() => libc.munmap(address, FILE_BYTES));
  const functionAt = (offset: number): ProbedCall => {
    const call = CFunction({ ptr: (address + offset) as Pointer, args: [], returns: "void" });
    return { offset: BigInt(offset), call: () => void call() };
  };
  return {
    path: `/proc/self/fd/${fd}`,
    carriedOut: functionAt(0),
    stepped: functionAt(STEPPED_OFFSET),
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
