/** Which memory the instructions around a place of a program access, as far as the registers at that place tell their addresses. */
import { Decoder, DecoderOptions, FlowControl, Instruction } from "iced-x86";
import { type AddressProgram, type ProgramBuilder, programBuilder, type Value } from "./address-program.ts";
import { functionShape } from "./function-shape.ts";
import { LONGEST_INSTRUCTION_BYTES } from "./memory-operand.ts";
import { AT_PLACE, addressValue, type RegisterValues, valuesAfter, valuesBefore } from "./register-values.ts";
import { decodeStep, type Step } from "./step.ts";

/** Bytes of code from `offset` on, which counts from the place; fewer where the code ends. */
export type ReadCode = (offset: number, length: number) => Uint8Array;

/** The function in which a place is, in bytes from the place on. */
export interface FunctionAround {
  /** In front of the place; 0 where it is not known. */
  readonly before: number;
  /** From the place to its end; null where it is not known. */
  readonly behind: number | null;
}

/** Instructions that are looked at behind a place, and in front of it: a loop of a kernel is shorter than that. */
const AHEAD = 24;
const BEHIND = 12;
/** Further from the place a function is not decoded. */
const MOST_AROUND_BYTES = 4096;

function stepAt(read: ReadCode, offset: number): Step | null {
  const decoder = new Decoder(64, read(offset, LONGEST_INSTRUCTION_BYTES), DecoderOptions.None);
  decoder.ip = BigInt.asUintN(64, BigInt(offset));
  const instruction = new Instruction();
  try {
    return decodeStep(decoder, instruction);
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

function addressesOf({ operands }: Step, values: RegisterValues, builder: ProgramBuilder): Value[] {
  return operands.map((operand) => addressValue(operand, values, builder)).filter((value) => value !== null);
}

/** A read of a page that is not in memory would bring it there. */
const withoutLoads = (builder: ProgramBuilder): ProgramBuilder => ({ ...builder, load: () => null });

/** Memory is read of instructions alone that the program is about to run for sure, which brings its pages there itself. */
function ahead(read: ReadCode, surely: ProgramBuilder): Value[] {
  const found: Value[] = [];
  const seen = new Set<number>();
  let values = AT_PLACE;
  let builder = surely;
  for (let offset: number | null = 0; offset !== null && seen.size < AHEAD && !seen.has(offset); ) {
    seen.add(offset);
    const step: Step | null = stepAt(read, offset);
    if (step === null) break;
    found.push(...addressesOf(step, values, builder));
    values = valuesAfter(step, values, builder);
    if (step.flow === FlowControl.ConditionalBranch) builder = withoutLoads(surely);
    offset = follow(step, offset);
  }
  return found;
}

/** The instructions that led to the place for sure, but for branches into their midst that nobody sees; in order. */
function led(read: ReadCode, { before, behind }: FunctionAround): Step[] {
  if (before <= 0 || before > MOST_AROUND_BYTES) return [];
  const length = before + Math.min(behind ?? MOST_AROUND_BYTES, MOST_AROUND_BYTES);
  const { starts, targets } = functionShape(read(-before, length), -before);
  const steps: Step[] = [];
  for (const offset of starts.slice(-BEHIND).reverse()) {
    const step = stepAt(read, offset);
    if (step === null || targets.has(step.next)) break;
    if (step.flow !== FlowControl.Next && step.flow !== FlowControl.ConditionalBranch) break;
    steps.unshift(step);
  }
  return steps;
}

/** What registers held is followed back from the place, and from there to it again, as what was overwritten may have been computed. */
function behind(steps: readonly Step[], builder: ProgramBuilder): Value[] {
  const undone: RegisterValues[] = [AT_PLACE];
  for (const step of [...steps].reverse()) undone.unshift(valuesBefore(step, undone[0] ?? [], builder));
  const found: Value[] = [];
  let computed: RegisterValues = [];
  for (const [n, step] of steps.entries()) {
    const values = (undone[n] ?? []).map((value, place) => value ?? computed[place] ?? null);
    found.push(...addressesOf(step, values, builder));
    computed = valuesAfter(step, values, builder);
  }
  return found;
}

/**
 * The addresses of the instructions that a thread runs next, and of those that it ran just now, as far as they follow from the
 * registers at the place: a timer's interrupt falls on the instruction that waits, which is seldom the one that accesses memory.
 * Branches go back where they can, as those of loops do. So an address may be of an instruction that does not run: it is
 * then where the program might have gone.
 */
export function nearAddresses(read: ReadCode, around: FunctionAround): AddressProgram {
  const builder = programBuilder();
  return builder.build([...ahead(read, builder), ...behind(led(read, around), builder)]);
}
