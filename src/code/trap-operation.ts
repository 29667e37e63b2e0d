/** Read or write: what the access behind a trap was, from the program's own instructions. */
import type { AccessOp, OpEvidence } from "../schema/words.ts";
import type { CodeMap, CodeObject } from "./code-bytes.ts";
import {
  FUNCTION_LIMIT_BYTES,
  type InstructionAccess,
  instructionsAtTrap,
  type TrapInstructions,
} from "./instruction.ts";
import { LONGEST_INSTRUCTION_BYTES } from "./memory-operand.ts";

export interface DecodedAccess {
  readonly op: AccessOp;
  readonly evidence: Extract<OpEvidence, "decoded" | "registers" | "none">;
  /** True where the trap is inside a repeated string instruction, which goes on after it. */
  readonly repeated: boolean;
}

/** One trap, as far as decoding needs it; 64-bit values as bigint. */
export interface TrapContext {
  readonly pid: number;
  readonly ip: bigint;
  readonly registerSi: bigint;
  readonly registerDi: bigint;
  readonly addr: bigint;
  readonly sizeBytes: number;
  readonly inKernel: boolean;
}

export type AccessDecoder = (trap: TrapContext) => DecodedAccess;

const UNKNOWN: DecodedAccess = { op: "unknown", evidence: "none", repeated: false };
const NOTHING: TrapInstructions = { before: null, repeatedAt: null };
/** The kernel copies to and from a program in steps of at most 8 bytes once it cannot use one string instruction. */
const KERNEL_ELEMENT_BYTES = 8;
/** A processor may move this many bytes of a string between two traps. */
const STRING_STEP_BYTES = 64n;
const CODE_LIMIT = 1n << 53n;

/** True where an element just before or at `register` overlaps the watched bytes. */
function pointsAt(register: bigint, trap: TrapContext, stepBytes: bigint): boolean {
  return register > trap.addr - stepBytes && register <= trap.addr + BigInt(trap.sizeBytes) + stepBytes;
}

/** Which of rsi and rdi was at the watched bytes; null where neither, unknown where both were, in different ways. */
function byRegisters(trap: TrapContext, si: AccessOp, di: AccessOp, elementBytes: number): AccessOp | null {
  for (const step of [BigInt(elementBytes), STRING_STEP_BYTES]) {
    const bySi = si !== "unknown" && pointsAt(trap.registerSi, trap, step);
    const byDi = di !== "unknown" && pointsAt(trap.registerDi, trap, step);
    if (bySi && byDi) return si === di ? si : "unknown";
    if (bySi || byDi) return bySi ? si : di;
  }
  return null;
}

function resolve(trap: TrapContext, access: InstructionAccess | null, repeated: boolean): DecodedAccess | null {
  if (access === null || access.kind === "undecidable") return null;
  if (access.kind === "plain") return { op: access.op, evidence: "decoded", repeated };
  const only = access.si === "unknown" ? access.di : access.di === "unknown" ? access.si : null;
  const seen = byRegisters(trap, access.si, access.di, access.element_bytes);
  if (seen !== null) return { op: seen, evidence: seen === "unknown" ? "none" : "registers", repeated };
  // At the ip after it a string instruction with one operand needs no register; at its own ip it may not have begun.
  return only !== null && !repeated ? { op: only, evidence: "decoded", repeated } : null;
}

function functionInstructions(object: CodeObject, vaddr: number): TrapInstructions {
  // The access ended before `vaddr`, so its function is that of the byte before; at a function's
  // first byte the access was a call's or a jump's, which lies elsewhere.
  const starts = object.elf.functionStarts();
  const range = starts?.at(vaddr - 1) ?? null;
  const functionRange = starts?.at(vaddr) ?? null;
  const start = functionRange !== null && functionRange.start === vaddr ? vaddr : range?.start;
  if (start === undefined || vaddr - start > FUNCTION_LIMIT_BYTES) return NOTHING;
  const offset = object.elf.fileOffset(start);
  if (offset === null) return NOTHING;
  return instructionsAtTrap(object.bytes.slice(offset, vaddr - start + LONGEST_INSTRUCTION_BYTES), vaddr - start);
}

/**
 * A decoder that remembers what it found for each instruction of each mapped file.
 * Kernel code is not decoded: there only rsi and rdi, which its copies to and from a program use, tell.
 */
export function createAccessDecoder(code: Pick<CodeMap, "locate">): AccessDecoder {
  const cache = new Map<string, TrapInstructions>();
  return (trap) => {
    if (trap.inKernel) {
      const op = byRegisters(trap, "load", "store", KERNEL_ELEMENT_BYTES);
      return op === null || op === "unknown" ? UNKNOWN : { op, evidence: "registers", repeated: false };
    }
    if (trap.ip >= CODE_LIMIT) return UNKNOWN;
    const location = code.locate(trap.pid, Number(trap.ip));
    if (location === null) return UNKNOWN;
    const key = `${location.object.key}@${location.vaddr}`;
    let found = cache.get(key);
    if (found === undefined) {
      found = functionInstructions(location.object, location.vaddr);
      cache.set(key, found);
    }
    return resolve(trap, found.repeatedAt, true) ?? resolve(trap, found.before, false) ?? UNKNOWN;
  };
}
