/** Small x86-64 loops of our own, run on a thread and on this one, to time what a trap, a retarget and a copy cost. */
import { CFunction, dlopen, FFIType, type Pointer, toArrayBuffer } from "bun:ffi";
import { MrmTraceError } from "../errors.ts";
import { bindThread } from "./affinity.ts";
import { stableBytes } from "./foreign-memory.ts";
import { errno, errnoName, libc } from "./libc.ts";

const PROT_READ_WRITE = 3;
const PROT_READ_EXECUTE = 5;
const MAP_PRIVATE_ANONYMOUS = 0x22;
const CODE_BYTES = 4096;
/** Code, then the words that it works on: no garbage collector moves or frees them. */
const MAP_BYTES = 2 * CODE_BYTES;

/** touch(word, n): adds 1 to the word n times, one access per turn. */
const TOUCH = [0x48, 0xff, 0x07, 0x48, 0xff, 0xce, 0x75, 0xf8, 0x31, 0xc0, 0xc3];
/** ticks(): what the clock of the processor says (rdtsc). */
const TICKS = [0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3];
const TICKS_AT = 32;
/**
 * spin(words): stores its thread id in words[2], then reads the clock over and over into words[0] until words[1] is not 0. Where it stood still from one reading
 * to the next for words[3] to words[4] ticks, it adds these to words[5], and longer ones to words[6].
 */
const SPIN = [
  [0x57, 0xb8, 0xba, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x5f, 0x48, 0x89, 0x47, 0x10],
  [0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0x49, 0x89, 0xc0],
  [0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0x48, 0x89, 0xc1, 0x4c, 0x29, 0xc1, 0x49, 0x89, 0xc0],
  [0x48, 0x89, 0x07, 0x48, 0x3b, 0x4f, 0x18, 0x72, 0x10, 0x48, 0x3b, 0x4f, 0x20, 0x77, 0x06],
  [0x48, 0x01, 0x4f, 0x28, 0xeb, 0x04, 0x48, 0x01, 0x4f, 0x30],
  [0x48, 0x83, 0x7f, 0x08, 0x00, 0x74, 0xce, 0x31, 0xc0, 0xc3],
].flat();
const SPIN_AT = 64;
/** Shorter stops are its own turns, longer ones another thread on its CPU: 0.2 us to 0.1 ms. */
const STOP_TICKS = [1000n, 300_000n] as const;
/** copy(to, from, bytes): rep movsb. */
const COPY = [0x48, 0x89, 0xd1, 0xf3, 0xa4, 0xc3];
const COPY_AT = 192;

/**
 * sweep(word, n, bytes, count, out): n times, reads one word of each of count cache lines and then adds 1 to the word; out[i] is how many ticks of
 * the processor's clock that took.
 */
const SWEEP = [
  [0x48, 0x89, 0xd0, 0x49, 0x89, 0xc9],
  [0x4c, 0x8b, 0x10, 0x48, 0x83, 0xc0, 0x40, 0x49, 0xff, 0xc9, 0x75, 0xf4],
  [0x49, 0x89, 0xd3, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0x49, 0x89, 0xc2],
  [0x48, 0xff, 0x07, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0x4c, 0x29, 0xd0],
  [0x49, 0x89, 0x00, 0x49, 0x83, 0xc0, 0x08, 0x4c, 0x89, 0xda, 0x48, 0xff, 0xce, 0x75, 0xc1, 0x31, 0xc0, 0xc3],
].flat();
const SWEEP_AT = 224;

/** A thread that does nothing but see that it stood still; disposing it ends and joins it. */
export interface Spinner extends Disposable {
  /** For how long interrupts held it up so far, in ticks of the processor's clock. */
  stoppedTicks(): number;
  /** For how long others had its CPU so far, in such ticks. */
  awayTicks(): number;
  /** When it last ran, by that clock. */
  lastTicks(): number;
}

export interface MachineCode extends Disposable {
  /** Address of the word that `touch` adds to; 8-byte aligned. */
  readonly wordAddr: bigint;
  /** Adds 1 to the word `n` times on this thread. */
  touch(n: number): void;
  /**
   * Adds 1 to the word `n` times on this thread, and reads a word of each cache line of `through` (64 bytes or more) before each.
   * @returns how long each of these took, in ticks of the processor's clock
   */
  sweep(n: number, through: Uint8Array): number[];
  /** Copies all bytes of one over as many of another on this thread, by a string instruction. */
  copy(target: Uint8Array, source: Uint8Array): void;
  /** The processor's clock, the same on every CPU, in ticks of its own. */
  ticks(): number;
  /** Starts a thread on one CPU that is always there; one at a time. @throws MrmTraceError environment */
  spin(cpu: number): Spinner;
}

const threads = () =>
  dlopen("libc.so.6", {
    pthread_create: { args: [FFIType.ptr, FFIType.u64, FFIType.u64, FFIType.u64], returns: FFIType.i32 },
    pthread_join: { args: [FFIType.u64, FFIType.u64], returns: FFIType.i32 },
    mprotect: { args: [FFIType.u64, FFIType.u64, FFIType.i32], returns: FFIType.i32 },
  }).symbols;

function refused(what: string): MrmTraceError {
  return new MrmTraceError(
    "environment",
    `${what} failed: ${errnoName(errno())}`,
    "allow this program executable memory of its own (SELinux: execmem)",
  );
}

/** Maps the loops. @throws MrmTraceError environment where executable memory is refused, and on other processors */
export function openMachineCode(): MachineCode {
  if (process.arch !== "x64") {
    throw new MrmTraceError(
      "environment",
      `no loops for ${process.arch}: only x64`,
      "assume the costs, or add the loops",
    );
  }
  const lib = threads();
  const code = Number(libc.mmap(0, MAP_BYTES, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0));
  if (code === -1) throw refused("mapping two pages");
  const bytes = new Uint8Array(toArrayBuffer(code as Pointer, 0, CODE_BYTES));
  bytes.set(TOUCH);
  bytes.set(TICKS, TICKS_AT);
  bytes.set(SPIN, SPIN_AT);
  bytes.set(COPY, COPY_AT);
  bytes.set(SWEEP, SWEEP_AT);
  if (lib.mprotect(code, CODE_BYTES, PROT_READ_EXECUTE) !== 0) {
    const error = refused("making a page executable");
    libc.munmap(code, MAP_BYTES);
    throw error;
  }
  const touch = CFunction({ ptr: code as Pointer, args: [FFIType.u64, FFIType.u64], returns: FFIType.u64 });
  const ticks = CFunction({ ptr: (code + TICKS_AT) as Pointer, args: [], returns: FFIType.u64 });
  const copy = CFunction({
    ptr: (code + COPY_AT) as Pointer,
    args: [FFIType.ptr, FFIType.ptr, FFIType.u64],
    returns: FFIType.void,
  });
  const sweep = CFunction({
    ptr: (code + SWEEP_AT) as Pointer,
    args: [FFIType.u64, FFIType.u64, FFIType.ptr, FFIType.u64, FFIType.ptr],
    returns: FFIType.void,
  });
  const wordAt = code + CODE_BYTES;
  const spinAt = wordAt + 128;
  const words = new BigInt64Array(toArrayBuffer(spinAt as Pointer, 0, 64));
  return {
    wordAddr: BigInt(wordAt),
    touch: (n) => void touch(wordAt, n),
    sweep(n, through) {
      const took = stableBytes(8 * n);
      sweep(wordAt, n, through, Math.max(1, through.length >> 6), took);
      return Array.from(new BigUint64Array(took.buffer, took.byteOffset, n), Number);
    },
    copy: (target, source) => void copy(target, source, Math.min(target.length, source.length)),
    ticks: () => Number(ticks()),
    spin(cpu) {
      words.fill(0n);
      words.set(STOP_TICKS, 3);
      const thread = stableBytes(8);
      if (lib.pthread_create(thread, 0, code + SPIN_AT, spinAt) !== 0) throw refused("starting a thread");
      while (Atomics.load(words, 2) === 0n) {}
      bindThread(Number(Atomics.load(words, 2)), [cpu]);
      return {
        stoppedTicks: () => Number(Atomics.load(words, 5)),
        awayTicks: () => Number(Atomics.load(words, 6)),
        lastTicks: () => Number(Atomics.load(words, 0)),
        [Symbol.dispose]() {
          Atomics.store(words, 1, 1n);
          lib.pthread_join(new DataView(thread.buffer).getBigUint64(0, true), 0);
        },
      };
    },
    [Symbol.dispose]() {
      touch.close();
      ticks.close();
      copy.close();
      sweep.close();
      libc.munmap(code, MAP_BYTES);
    },
  };
}
