/** Which memory the instructions around a place of a program access, as far as the registers at that place tell their addresses. */
import {
  Decoder,
  DecoderOptions,
  FlowControl,
  Instruction,
  type InstructionInfo,
  InstructionInfoFactory,
  RegisterExt,
} from "iced-x86";
import { OP } from "../schema/operation.ts";
import { accessOp } from "./access-op.ts";
import { LONGEST_INSTRUCTION_BYTES, type MemoryOperand, operandOf } from "./memory-operand.ts";

/** Bytes of code from `offset` on, which counts from the place; fewer where the code ends. */
export type ReadCode = (offset: number, length: number) => Uint8Array;

/** Instructions that are looked at behind a place, and in front of it: a loop of a kernel is shorter than that. */
const AHEAD = 24;
const BEHIND = 12;
/** A function that began further in front of the place is not decoded up to it. */
const MOST_BEHIND_BYTES = 4096;

/** One instruction: what it accesses, and which general registers are others after it. */
interface Step {
  readonly operands: readonly MemoryOperand[];
  /** Bit p is set where the register at place p is written. */
  readonly writes: number;
  readonly flow: FlowControl;
  /** Where a near branch goes, from the place on. */
  readonly target: number;
  readonly next: number;
}

const infoFactory = new InstructionInfoFactory();

function writesOf(info: InstructionInfo): number {
  let writes = 0;
  for (const used of info.usedRegisters()) {
    const word = accessOp(used.access);
    if ((word === "store" || word === "load_store") && RegisterExt.isGPR(used.register)) {
      writes |= 1 << RegisterExt.number(RegisterExt.fullRegister(used.register));
    }
    used.free();
  }
  return writes;
}

function operandsOf(info: InstructionInfo, instruction: Instruction): MemoryOperand[] {
  return info.usedMemory().flatMap((memory) => {
    const word = accessOp(memory.access);
    const operand = word === "unknown" ? "none" : operandOf(memory, OP[word], instruction);
    memory.free();
    return typeof operand === "string" ? [] : [operand];
  });
}

/** Decodes what the decoder stands at; null where that is no instruction. */
function decodeStep(decoder: Decoder, instruction: Instruction): Step | null {
  if (!decoder.canDecode) return null;
  decoder.decodeOut(instruction);
  if (instruction.isInvalid) return null;
  const flow = instruction.flowControl;
  const isBranch = flow === FlowControl.ConditionalBranch || flow === FlowControl.UnconditionalBranch;
  const info = infoFactory.info(instruction);
  const step = {
    operands: operandsOf(info, instruction),
    writes: writesOf(info),
    flow,
    target: isBranch ? Number(BigInt.asIntN(64, instruction.nearBranchTarget)) : 0,
    next: Number(BigInt.asIntN(64, instruction.nextIP)),
  };
  info.free();
  return step;
}

function decoding<T>(code: Uint8Array, offset: number, run: (decoder: Decoder, instruction: Instruction) => T): T {
  const decoder = new Decoder(64, code, DecoderOptions.None);
  decoder.ip = BigInt.asUintN(64, BigInt(offset));
  const instruction = new Instruction();
  try {
    return run(decoder, instruction);
  } finally {
    instruction.free();
    decoder.free();
  }
}

/** Where the program goes on after an instruction, as a loop does: back where a branch may go back. Null where nobody knows. */
function follow({ flow, target, next }: Step, offset: number): number | null {
  if (flow === FlowControl.Next) return next;
  if (flow === FlowControl.UnconditionalBranch) return target;
  if (flow === FlowControl.ConditionalBranch) return target <= offset ? target : next;
  return null;
}

const readsNone = ({ base, index }: MemoryOperand, written: number): boolean =>
  ((written >>> (base?.place ?? 31)) & 1) === 0 && ((written >>> (index?.place ?? 31)) & 1) === 0;

function ahead(read: ReadCode): MemoryOperand[] {
  const found: MemoryOperand[] = [];
  const seen = new Set<number>();
  let written = 0;
  for (let offset: number | null = 0; offset !== null && seen.size < AHEAD && !seen.has(offset); ) {
    seen.add(offset);
    const step: Step | null = decoding(read(offset, LONGEST_INSTRUCTION_BYTES), offset, decodeStep);
    if (step === null) break;
    for (const operand of step.operands) if (readsNone(operand, written)) found.push(operand);
    written |= step.writes;
    offset = follow(step, offset);
  }
  return found;
}

/** What an instruction overwrites is not its address any more, so that its own registers count as well. */
function behind(read: ReadCode, before: number): MemoryOperand[] {
  if (before <= 0 || before > MOST_BEHIND_BYTES) return [];
  const steps = decoding(read(-before, before), -before, (decoder, instruction) => {
    const all: Step[] = [];
    for (let step = decodeStep(decoder, instruction); step !== null; step = decodeStep(decoder, instruction)) {
      all.push(step);
    }
    return all;
  });
  if (steps.at(-1)?.next !== 0) return [];
  const found: MemoryOperand[] = [];
  let written = 0;
  for (const { operands, writes, flow } of steps.slice(-BEHIND).reverse()) {
    if (flow !== FlowControl.Next && flow !== FlowControl.ConditionalBranch) break;
    written |= writes;
    for (const operand of operands) if (readsNone(operand, written)) found.push(operand);
  }
  return found;
}

/**
 * The operands of the instructions that a thread runs next, and of those that it has likely run just now, whose registers are the
 * same at the place: a timer's interrupt falls on the instruction that waits, which is seldom the one that accesses memory.
 * Branches go back where they can, as those of loops do. So an operand may be of an instruction that does not run: its address is
 * then where the program might have gone.
 * @param before bytes of the function in front of the place; 0 where they are not known
 */
export function nearOperands(read: ReadCode, before: number): MemoryOperand[] {
  return [...ahead(read), ...behind(read, before)];
}
