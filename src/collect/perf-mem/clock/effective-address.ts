/** The address that the instruction at a sampled place is about to access, from the registers there. */
import {
  Code,
  Decoder,
  DecoderOptions,
  type Instruction,
  InstructionInfoFactory,
  OpAccess,
  Register,
  RegisterExt,
  type UsedMemory,
} from "iced-x86";
import type { OPS } from "../file/access-columns.ts";
import type { Registers } from "./registers.ts";

export interface SampledAccess {
  readonly address: bigint;
  readonly op: (typeof OPS)[number];
}

const LONGEST_INSTRUCTION_BYTES = 15;
const MASK = (1n << 64n) - 1n;
const infoFactory = new InstructionInfoFactory();

function opOf(access: OpAccess): SampledAccess["op"] {
  switch (access) {
    case OpAccess.Read:
    case OpAccess.CondRead:
      return "load";
    case OpAccess.Write:
    case OpAccess.CondWrite:
      return "store";
    case OpAccess.ReadWrite:
    case OpAccess.ReadCondWrite:
      return "load_store";
    default:
      return "unknown";
  }
}

/** Of a 32-bit register the low half counts. */
function registerValue(register: Register, registers: Registers): bigint | null {
  if (register === Register.None) return 0n;
  const full = registers(RegisterExt.fullRegister(register));
  if (full === null) return null;
  return RegisterExt.size(register) === 4 ? full & 0xffffffffn : full;
}

/** Base, index and displacement; null where a register is not known, or thread-local storage has its own base. */
function addressOf(memory: UsedMemory, registers: Registers): bigint | null {
  if (memory.segment === Register.FS || memory.segment === Register.GS) return null;
  const base = registerValue(memory.base, registers);
  const index = registerValue(memory.index, registers);
  if (base === null || index === null) return null;
  return (base + index * BigInt(memory.scale) + memory.displacement) & MASK;
}

/** The one access of an instruction, or the read of a copy; null for none, several or an unknown address. */
function accessOf(instruction: Instruction, registers: Registers): SampledAccess | null {
  const info = infoFactory.info(instruction);
  try {
    let found: SampledAccess | null = null;
    for (const memory of info.usedMemory()) {
      try {
        const op = opOf(memory.access);
        if (op === "unknown") continue;
        // A second access of one instruction cannot be told in one row.
        if (found !== null) return found.op === "load" ? found : null;
        const address = addressOf(memory, registers);
        if (address === null) return null;
        found = { address, op };
      } finally {
        memory.free();
      }
    }
    return found;
  } finally {
    info.free();
  }
}

/**
 * A timer interrupts between two instructions: the one at `ip` has not run, so its address follows from the registers.
 * @param code bytes from `ip` on
 * @returns null where it accesses no memory, or where its address cannot be known
 */
export function accessAt(code: Uint8Array, ip: bigint, registers: Registers): SampledAccess | null {
  const decoder = new Decoder(64, code.subarray(0, LONGEST_INSTRUCTION_BYTES), DecoderOptions.None);
  decoder.ip = ip;
  const instruction = decoder.decode();
  try {
    return instruction.code === Code.INVALID ? null : accessOf(instruction, registers);
  } finally {
    instruction.free();
    decoder.free();
  }
}
