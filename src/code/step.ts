/** One decoded instruction, as far as addresses follow from it: what it accesses, what it leaves in registers, and where it goes. */
import {
  type Decoder,
  FlowControl,
  type Instruction,
  type InstructionInfo,
  InstructionInfoFactory,
  MemorySizeExt,
  Mnemonic,
  OpKind,
  Register,
  RegisterExt,
} from "iced-x86";
import { OP } from "../schema/operation.ts";
import { accessOp } from "./access-op.ts";
import { type MemoryOperand, operandOf } from "./memory-operand.ts";
import { OPERATION, type Operation } from "./operation.ts";
import { GENERAL_PLACES } from "./register-file.ts";

/** One side of an operation. */
export type Source =
  /** The lowest bits of a register; above them zeros, or copies of the highest. */
  | { readonly kind: "register"; readonly place: number; readonly bits: number; readonly isSigned: boolean }
  | { readonly kind: "constant"; readonly value: bigint }
  | { readonly kind: "address"; readonly operand: MemoryOperand }
  /** What memory holds, of which the lowest bits count as of a register. */
  | { readonly kind: "memory"; readonly operand: MemoryOperand; readonly bits: number; readonly isSigned: boolean };

/** What an instruction leaves in a register. */
export interface Effect {
  readonly place: number;
  /** 64, or 32 where the upper half becomes zero. */
  readonly bits: number;
  readonly left: Source;
  /** Null for a copy of the left side. */
  readonly by: { readonly operation: Operation; readonly right: Source } | null;
}

export interface Step {
  readonly operands: readonly MemoryOperand[];
  /** Bit p is set where the register at place p is written. */
  readonly writes: number;
  /** The written register that follows from others; null where none does. */
  readonly effect: Effect | null;
  readonly flow: FlowControl;
  /** Where a near branch goes, from the place on. */
  readonly target: number;
  readonly next: number;
}

const infoFactory = new InstructionInfoFactory();
const { add, subtract, multiply, and, or, xor, shiftLeft, shiftRight, shiftRightSigned } = OPERATION;
/** By the mnemonic, of the first operand and the second, or of the second and the third where there are three. */
const OPERATIONS: Partial<Record<Mnemonic, Operation>> = {
  [Mnemonic.Add]: add,
  [Mnemonic.Sub]: subtract,
  [Mnemonic.Imul]: multiply,
  [Mnemonic.And]: and,
  [Mnemonic.Or]: or,
  [Mnemonic.Xor]: xor,
  [Mnemonic.Shl]: shiftLeft,
  [Mnemonic.Sal]: shiftLeft,
  [Mnemonic.Shlx]: shiftLeft,
  [Mnemonic.Shr]: shiftRight,
  [Mnemonic.Shrx]: shiftRight,
  [Mnemonic.Sar]: shiftRightSigned,
  [Mnemonic.Sarx]: shiftRightSigned,
};
/** Of one operand and a constant. */
const BY_CONSTANT: Partial<Record<Mnemonic, readonly [Operation, bigint]>> = {
  [Mnemonic.Inc]: [add, 1n],
  [Mnemonic.Dec]: [subtract, 1n],
  [Mnemonic.Not]: [xor, -1n],
  [Mnemonic.Neg]: [multiply, -1n],
};
const COPIES = new Set<Mnemonic>([Mnemonic.Mov, Mnemonic.Movzx, Mnemonic.Movsx, Mnemonic.Movsxd]);
const SIGNED = new Set<Mnemonic>([Mnemonic.Movsx, Mnemonic.Movsxd, Mnemonic.Sar, Mnemonic.Sarx]);

const general = (place: number, bits: number, isSigned = false): Source => ({
  kind: "register",
  place,
  bits,
  isSigned,
});
const constant = (value: bigint): Source => ({ kind: "constant", value });

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

/** The memory operand of an instruction, as it stands in it; null where no register file tells where it is. */
function memoryOperand(instruction: Instruction): MemoryOperand | null {
  const form = {
    base: instruction.memoryBase,
    index: instruction.memoryIndex,
    scale: instruction.memoryIndexScale,
    displacement: instruction.memoryDisplacement,
    segment: instruction.memorySegment,
  };
  const operand = operandOf(form, OP.unknown, instruction);
  return typeof operand === "string" ? null : operand;
}

function memorySource(instruction: Instruction): Source | null {
  const operand = memoryOperand(instruction);
  const bits = 8 * MemorySizeExt.size(instruction.memorySize);
  const isSigned = SIGNED.has(instruction.mnemonic);
  return operand === null || bits === 0 || bits > 64 ? null : { kind: "memory", operand, bits, isSigned };
}

/** Null for a vector, and the second byte of a register. */
function sourceOf(instruction: Instruction, n: number): Source | null {
  const kind = instruction.opKind(n);
  if (kind === OpKind.Memory) return memorySource(instruction);
  if (kind !== OpKind.Register) return constant(instruction.immediate(n));
  const register = instruction.opRegister(n);
  const isSecondByte = register >= Register.AH && register <= Register.BH;
  if (!RegisterExt.isGPR(register) || isSecondByte) return null;
  const bits = 8 * RegisterExt.size(register);
  return general(RegisterExt.number(RegisterExt.fullRegister(register)), bits, SIGNED.has(instruction.mnemonic));
}

/** An address that is put into one of its own registers is a sum with it. */
function addressEffect(instruction: Instruction, place: number, bits: number): Effect | null {
  const found = memoryOperand(instruction);
  if (found === null) return null;
  const operand = { ...found, segment: -1 };
  const { base, index, shift, narrow } = operand;
  let rest: MemoryOperand | null = null;
  if (base?.place === place) rest = { ...operand, base: null };
  else if (index?.place === place && shift === 0) rest = { ...operand, index: null };
  return rest === null || narrow
    ? { place, bits, left: { kind: "address", operand }, by: null }
    : { place, bits, left: general(place, bits), by: { operation: add, right: { kind: "address", operand: rest } } };
}

/** The lowest bits of the right side count where bits are shifted. */
function countOf(right: Source, bits: number): Source {
  if (right.kind === "constant") return constant(right.value & BigInt(bits - 1));
  // A 32-bit shift takes 5 bits of a register and a 64-bit one 6.
  return right.kind === "register" ? { ...right, bits: bits === 32 ? 5 : 6, isSigned: false } : right;
}

function operationEffect(instruction: Instruction, place: number, bits: number): Effect | null {
  const { mnemonic, opCount } = instruction;
  const [single, by] = BY_CONSTANT[mnemonic] ?? [];
  const operation = opCount === 1 ? single : OPERATIONS[mnemonic];
  if (operation === undefined) return null;
  const left = sourceOf(instruction, opCount === 3 ? 1 : 0);
  const right = opCount === 1 ? constant(by ?? 0n) : sourceOf(instruction, opCount - 1);
  if (left === null || right === null) return null;
  const isSame = left.kind === "register" && right.kind === "register" && left.place === right.place;
  if (isSame && (operation === xor || operation === subtract)) return { place, bits, left: constant(0n), by: null };
  const shifts = operation === shiftLeft || operation === shiftRight || operation === shiftRightSigned;
  return { place, bits, left, by: { operation, right: shifts ? countOf(right, bits) : right } };
}

function effectOf(instruction: Instruction): Effect | null {
  const { mnemonic, opCount, stackPointerIncrement } = instruction;
  if (stackPointerIncrement !== 0) {
    if (mnemonic === Mnemonic.Pop && instruction.op0Register === Register.RSP) return null;
    const place = GENERAL_PLACES.sp;
    const right = constant(BigInt(stackPointerIncrement));
    return { place, bits: 64, left: general(place, 64), by: { operation: add, right } };
  }
  if (mnemonic === Mnemonic.Cdqe) {
    return { place: GENERAL_PLACES.ax, bits: 64, left: general(GENERAL_PLACES.ax, 32, true), by: null };
  }
  const into = opCount > 0 && instruction.opKind(0) === OpKind.Register ? sourceOf(instruction, 0) : null;
  if (into?.kind !== "register" || into.bits < 32) return null;
  const { place, bits } = into;
  if (mnemonic === Mnemonic.Lea) return addressEffect(instruction, place, bits);
  if (!COPIES.has(mnemonic)) return operationEffect(instruction, place, bits);
  const left = sourceOf(instruction, 1);
  return left === null ? null : { place, bits, left, by: null };
}

/** Decodes what the decoder stands at; null where that is no instruction. */
export function decodeStep(decoder: Decoder, instruction: Instruction): Step | null {
  if (!decoder.canDecode) return null;
  decoder.decodeOut(instruction);
  if (instruction.isInvalid) return null;
  const flow = instruction.flowControl;
  const isBranch = flow === FlowControl.ConditionalBranch || flow === FlowControl.UnconditionalBranch;
  const info = infoFactory.info(instruction);
  const step = {
    operands: operandsOf(info, instruction),
    writes: writesOf(info),
    effect: effectOf(instruction),
    flow,
    target: isBranch ? Number(BigInt.asIntN(64, instruction.nearBranchTarget)) : 0,
    next: Number(BigInt.asIntN(64, instruction.nextIP)),
  };
  info.free();
  return step;
}
