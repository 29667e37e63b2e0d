/**
 * Where in a function a probe costs least. Some instructions the kernel carries out itself when a probe replaced them; of every other it lets
 * the processor step over a copy, which is one more exception, and in a virtual machine as much as ten probes.
 */
import type { ByteSource } from "../../elf/file-bytes.ts";

export interface ProbeSite {
  /** In the file. */
  readonly offset: bigint;
  /** True where the processor has to step over what the probe replaced. */
  readonly isStepped: boolean;
  /** True where the function has aligned its stack anew by then, and r10 has the place of the arguments on the stack. */
  readonly isRealigned: boolean;
}

/** What the beginning of a function is matched with: bytes, or where several may stand, all of them. */
type Pattern = readonly (number | readonly number[])[];

const ENDBR64: Pattern = [0xf3, 0x0f, 0x1e, 0xfa];
/** lea 8(%rsp), %r10; and $-32 or $-64, %rsp: the prologue by which gcc aligns the stack for wide registers. */
const ALIGN: Pattern = [0x4c, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x83, 0xe4, [0xe0, 0xc0]];
/** vmovq of a register into one of 16 bytes, which gcc puts in between where it suits. */
const VMOVQ: Pattern = [0xc4, 0xe1, 0xf9, 0x6e, Array.from({ length: 64 }, (_, i) => 0xc0 + i)];
/** push -8(%r10): the address of return once more. */
const PUSH_RETURN: Pattern = [0x41, 0xff, 0x72, 0xf8];
const SEEN_BYTES = 32;

const matches = (bytes: Uint8Array, pattern: Pattern): boolean =>
  pattern.every((wanted, i) => (typeof wanted === "number" ? bytes[i] === wanted : wanted.includes(bytes[i] ?? -1)));

/** push of one of the 16 registers. */
function isPush([first = 0, second = 0]: Uint8Array): boolean {
  const opcode = first === 0x41 ? second : first;
  return opcode >= 0x50 && opcode <= 0x57;
}

/** A jump on a condition. */
const isConditional = ([first = 0, second = 0]: Uint8Array): boolean =>
  (first >= 0x70 && first <= 0x7f) || (first === 0x0f && second >= 0x80 && second <= 0x8f);

/** Jumps without a condition, calls and the nop of one byte. */
const isBranch = ([first = 0]: Uint8Array): boolean => [0xe8, 0xe9, 0xeb, 0x90].includes(first);

/** What the kernel carries out itself: branch_setup_xol_ops and push_setup_xol_ops of arch/x86/kernel/uprobes.c. */
const isCarriedOut = (bytes: Uint8Array): boolean => isPush(bytes) || isConditional(bytes) || isBranch(bytes);

/** Bytes of a test of a register with itself; 0 for what is none. */
function testBytes(bytes: Uint8Array): number {
  const prefix = ((bytes[0] ?? 0) & 0xf0) === 0x40 ? 1 : 0;
  const [opcode, operands = 0] = bytes.subarray(prefix);
  const isOneRegister = operands >= 0xc0 && ((operands >> 3) & 7) === (operands & 7);
  return opcode === 0x85 && isOneRegister ? prefix + 2 : 0;
}

/** Where behind the begin of a function, which may test a register first, something lies that the kernel carries out; null for any other. */
function behindTest(bytes: Uint8Array): number | null {
  if (isPush(bytes)) return 0;
  const tested = testBytes(bytes);
  return tested > 0 && isConditional(bytes.subarray(tested)) ? tested : null;
}

/** Where behind the begin of a function that aligns its stack the next push lies; null for any other function. */
function behindAlignment(bytes: Uint8Array): number | null {
  if (!matches(bytes, ALIGN)) return null;
  const between = matches(bytes.subarray(ALIGN.length), VMOVQ) ? VMOVQ.length : 0;
  const place = ALIGN.length + between;
  if (!matches(bytes.subarray(place), PUSH_RETURN)) return null;
  const end = place + PUSH_RETURN.length;
  return isPush(bytes.subarray(end)) ? end : null;
}

/**
 * The begin of a function; or the push, or the jump on a test of a register, right behind the mark that compilers put there for indirect
 * branches (endbr64) and that test, which change no register and no stack, so that arguments and the address of return are where they were;
 * or, unless the address of return is wanted, the push behind the alignment of the stack, where arguments in registers are where they were.
 * @param offset of the function in the file
 * @param returns true for a probe of its return, or beside one: that has to be where the address of return is on top of the stack
 */
export function probeSite(file: ByteSource, offset: bigint, returns: boolean, arch: string = process.arch): ProbeSite {
  const site = (distance: number, isStepped: boolean, isRealigned = false): ProbeSite => ({
    offset: offset + BigInt(distance),
    isStepped,
    isRealigned,
  });
  if (arch !== "x64") return site(0, false);
  const bytes = file.slice(Number(offset), SEEN_BYTES);
  const mark = matches(bytes, ENDBR64) ? ENDBR64.length : 0;
  const body = bytes.subarray(mark);
  const tested = behindTest(body);
  if (tested !== null) return site(mark + tested, false);
  const aligned = returns ? null : behindAlignment(body);
  if (aligned !== null) return site(mark + aligned, false, true);
  return site(0, !isCarriedOut(bytes));
}
