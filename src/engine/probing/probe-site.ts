/**
 * Where in a function a probe costs least. Some instructions the kernel carries out itself when a probe replaced them; of every other it lets
 * the processor step over a copy, which is one more exception: on bare metal some hundred ns, in a virtual machine as much as ten probes.
 */
import type { ByteSource } from "../../elf/file-bytes.ts";

export interface ProbeSite {
  /** In the file. */
  readonly offset: bigint;
  /** True where the processor has to step over what the probe replaced. */
  readonly isStepped: boolean;
}

const ENDBR64 = [0xf3, 0x0f, 0x1e, 0xfa];
/** The longest instructions that are looked for, behind that mark. */
const SEEN_BYTES = ENDBR64.length + 2;

/** push of one of the 16 registers. */
function isPush(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes;
  const opcode = first === 0x41 ? second : first;
  return opcode >= 0x50 && opcode <= 0x57;
}

/** Jumps, with a condition or without, calls and the nop of one byte. */
function isBranch(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes;
  const isLong = first === 0x0f && second >= 0x80 && second <= 0x8f;
  return isLong || (first >= 0x70 && first <= 0x7f) || [0xe8, 0xe9, 0xeb, 0x90].includes(first);
}

/** What the kernel carries out itself: branch_setup_xol_ops and push_setup_xol_ops of arch/x86/kernel/uprobes.c. */
const isCarriedOut = (bytes: Uint8Array): boolean => isPush(bytes) || isBranch(bytes);

/**
 * The begin of a function, or the push right behind the mark that compilers put there for indirect branches (endbr64): that changes no
 * register and no stack, so that arguments and the address of return are where they were.
 * @param offset of the function in the file
 */
export function probeSite(file: ByteSource, offset: bigint, arch: string = process.arch): ProbeSite {
  if (arch !== "x64") return { offset, isStepped: false };
  const bytes = file.slice(Number(offset), SEEN_BYTES).slice();
  const isMarked = ENDBR64.every((byte, i) => bytes[i] === byte);
  if (isMarked && isPush(bytes.subarray(ENDBR64.length)))
    return { offset: offset + BigInt(ENDBR64.length), isStepped: false };
  return { offset, isStepped: !isCarriedOut(bytes) };
}
