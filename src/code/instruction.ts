/** What one instruction does to memory, found by decoding its function from the start up to the trap. */

import {
  Decoder,
  DecoderOptions,
  FlowControl,
  Instruction,
  InstructionInfoFactory,
  MemorySizeExt,
  Register,
} from "iced-x86";
import type { AccessOp } from "../schema/words.ts";
import { accessOp } from "./access-op.ts";
import { LONGEST_INSTRUCTION_BYTES } from "./memory-operand.ts";

export type InstructionAccess =
  /** Every memory operand is used in this one way. */
  | { readonly kind: "plain"; readonly op: AccessOp }
  /** A string instruction: `si` and `di` say what it does at rsi and rdi, `element_bytes` at a time. */
  | { readonly kind: "string"; readonly element_bytes: number; readonly si: AccessOp; readonly di: AccessOp }
  /** Memory operands that are used differently, or none: the instruction alone cannot say what the trap was. */
  | { readonly kind: "undecidable" };

export interface TrapInstructions {
  /** The instruction that ends at the trap's ip; null where decoding does not arrive there. */
  readonly before: InstructionAccess | null;
  /** The instruction at the trap's ip, where it is a repeated string instruction: a trap inside it has its own ip. */
  readonly repeatedAt: InstructionAccess | null;
}

/** Longest function that is decoded: beyond it one trap would hold up the reader for tens of milliseconds. */
export const FUNCTION_LIMIT_BYTES = 256 * 1024;
const UNDECIDABLE: InstructionAccess = { kind: "undecidable" };

const infoFactory = new InstructionInfoFactory();

function accessOf(instruction: Instruction): InstructionAccess {
  switch (instruction.flowControl) {
    case FlowControl.Call:
    case FlowControl.IndirectCall:
      // A call's own accesses trap at its target. At its return address only the callee's return has trapped.
      return instruction.isStackInstruction ? { kind: "plain", op: "load" } : UNDECIDABLE;
    case FlowControl.Next:
      break;
    default:
      return UNDECIDABLE;
  }
  const info = infoFactory.info(instruction);
  let si: AccessOp = "unknown";
  let di: AccessOp = "unknown";
  const ops = new Set<AccessOp>();
  for (const memory of info.usedMemory()) {
    const op = accessOp(memory.access);
    if (memory.base === Register.RSI) si = op;
    if (memory.base === Register.RDI) di = op;
    if (op !== "unknown") ops.add(op);
    memory.free();
  }
  info.free();
  if (instruction.isStringInstruction && ops.size > 0) {
    return { kind: "string", element_bytes: MemorySizeExt.size(instruction.memorySize), si, di };
  }
  const [op, another] = ops;
  return op === undefined || another !== undefined ? UNDECIDABLE : { kind: "plain", op };
}

/**
 * Decodes `code`, the bytes of a function from its first one on, up to the trap at offset `trapAt`.
 * x86 reports a data breakpoint after the access, so the instruction that ends at the trap made it
 * (Intel SDM volume 3, "Data Memory and I/O Breakpoint Exception Conditions"); both answers are null where
 * decoding steps over `trapAt`.
 */
export function instructionsAtTrap(code: Uint8Array, trapAt: number): TrapInstructions {
  if (trapAt < 0 || trapAt > FUNCTION_LIMIT_BYTES || trapAt > code.length) return { before: null, repeatedAt: null };
  const decoder = new Decoder(64, code.subarray(0, trapAt + LONGEST_INSTRUCTION_BYTES), DecoderOptions.None);
  const instruction = new Instruction();
  try {
    let decoded = false;
    while (decoder.position < trapAt && decoder.canDecode) {
      decoder.decodeOut(instruction);
      decoded = true;
    }
    if (decoder.position !== trapAt) return { before: null, repeatedAt: null };
    const before = decoded && !instruction.isInvalid ? accessOf(instruction) : null;
    if (!decoder.canDecode) return { before, repeatedAt: null };
    decoder.decodeOut(instruction);
    const repeats = instruction.isStringInstruction && (instruction.hasRepPrefix || instruction.hasRepnePrefix);
    return { before, repeatedAt: repeats ? accessOf(instruction) : null };
  } finally {
    instruction.free();
    decoder.free();
  }
}
