/** Which memory the instruction at some place accesses, and how its address follows from the registers. */
import {
  Code,
  Decoder,
  DecoderOptions,
  type Instruction,
  InstructionInfoFactory,
  Register,
  RegisterExt,
  type UsedMemory,
} from "iced-x86";
import { OP } from "../schema/operation.ts";
import { accessOp } from "./access-op.ts";
import { PLACE } from "./register-file.ts";

/** A register that counts towards an address. */
export interface AddressRegister {
  readonly place: number;
  /** Bits of it that count: 64, 32 or 8. */
  readonly bits: number;
}

export interface MemoryOperand {
  /** Code of the word in op_type. */
  readonly op: number;
  readonly base: AddressRegister | null;
  readonly index: AddressRegister | null;
  /** The index counts 1 << shift times. */
  readonly shift: number;
  readonly displacementLow: number;
  readonly displacementHigh: number;
  /** Place of the segment base that is added; -1 for none. */
  readonly segment: number;
  /** True where addresses have 32 bits, before a segment base is added. */
  readonly narrow: boolean;
}

/** none: the instruction accesses no memory. unknown: it does, and no register file tells where; or it is no instruction. */
export type FoundOperand = MemoryOperand | "none" | "unknown";

export const LONGEST_INSTRUCTION_BYTES = 15;
const SHIFTS: Readonly<Record<number, number>> = { 1: 0, 2: 1, 4: 2, 8: 3 };
const infoFactory = new InstructionInfoFactory();

/** undefined for a register that no file holds, such as the vector of a gather. */
function addressRegister(register: Register): AddressRegister | null | undefined {
  if (register === Register.None) return null;
  const bytes = RegisterExt.size(register);
  if (!RegisterExt.isGPR(register) || bytes === 2) return undefined;
  return { place: RegisterExt.number(register), bits: 8 * bytes };
}

function segmentOf(register: Register): number {
  if (register === Register.FS) return PLACE.fs_base;
  return register === Register.GS ? PLACE.gs_base : -1;
}

/** How an address is made of registers. */
type AddressForm = Pick<UsedMemory, "base" | "index" | "scale" | "displacement" | "segment">;

/** @param instruction decoded as if the place whose registers are known were at 0 */
export function operandOf(memory: AddressForm, op: number, instruction: Instruction): FoundOperand {
  const relative = instruction.isIpRelMemoryOperand;
  // Decoded as if that place were at 0, a displacement from the instruction pointer counts from there.
  const base = relative
    ? { place: PLACE.rip, bits: instruction.memoryBase === Register.EIP ? 32 : 64 }
    : addressRegister(memory.base);
  const index = addressRegister(memory.index);
  const shift = SHIFTS[memory.scale];
  if (base === undefined || index === undefined || shift === undefined) return "unknown";
  const displacement = BigInt.asUintN(64, memory.displacement);
  return {
    op,
    base,
    index,
    shift,
    displacementLow: Number(displacement & 0xffffffffn),
    displacementHigh: Number(displacement >> 32n),
    segment: segmentOf(memory.segment),
    narrow: base?.bits === 32 || index?.bits === 32,
  };
}

/** The one access of an instruction; the first read of one that has several, such as a copy. */
function operandIn(instruction: Instruction): FoundOperand {
  const info = infoFactory.info(instruction);
  const all = info.usedMemory();
  try {
    const accesses = all.filter((memory) => accessOp(memory.access) !== "unknown");
    const [first] = accesses;
    if (first === undefined) return "none";
    const named = accesses.length === 1 ? first : accesses.find((memory) => accessOp(memory.access) === "load");
    return named === undefined ? "unknown" : operandOf(named, OP[accessOp(named.access)], instruction);
  } finally {
    for (const memory of all) memory.free();
    info.free();
  }
}

/**
 * A timer interrupts between two instructions: the one at the sampled place has not run, so its address follows from
 * the registers.
 * @param code bytes from that place on; up to 15 are looked at
 */
export function operandAt(code: Uint8Array): FoundOperand {
  const decoder = new Decoder(64, code.subarray(0, LONGEST_INSTRUCTION_BYTES), DecoderOptions.None);
  decoder.ip = 0n;
  const instruction = decoder.decode();
  try {
    return instruction.code === Code.INVALID ? "unknown" : operandIn(instruction);
  } finally {
    instruction.free();
    decoder.free();
  }
}
