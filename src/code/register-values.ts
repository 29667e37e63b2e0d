/** What registers hold before and after an instruction, by what they hold at a place of the program. */
import type { ProgramBuilder, Value } from "./address-program.ts";
import type { AddressRegister, MemoryOperand } from "./memory-operand.ts";
import { OPERATION, type Operation } from "./operation.ts";
import { PLACES } from "./register-file.ts";
import type { Effect, Source, Step } from "./step.ts";

/** By place; null where nobody knows. */
export type RegisterValues = readonly (Value | null)[];

/** What registers hold at the place itself. */
export const AT_PLACE: RegisterValues = Array.from({ length: PLACES }, (_, place) => place);

const { add, subtract, and, xor, shiftLeft, shiftRightSigned } = OPERATION;
/** What gives the left side again, of the result and the right side. */
const INVERSES: Partial<Record<Operation, Operation>> = { [add]: subtract, [subtract]: add, [xor]: xor };
const WORD_BITS = 32n;

/** The lowest bits of a value; above them zeros, or copies of the highest. */
function lowBits(value: Value | null, bits: number, isSigned: boolean, builder: ProgramBuilder): Value | null {
  if (bits === 64) return value;
  if (!isSigned) return builder.make(and, value, builder.constant((1n << BigInt(bits)) - 1n));
  const rest = builder.constant(BigInt(64 - bits));
  return builder.make(shiftRightSigned, builder.make(shiftLeft, value, rest), rest);
}

function held({ place, bits }: AddressRegister, values: RegisterValues, builder: ProgramBuilder): Value | null {
  return lowBits(values[place] ?? null, bits, false, builder);
}

/** The address of an operand, as `effectiveAddress` computes it. */
export function addressValue(operand: MemoryOperand, values: RegisterValues, builder: ProgramBuilder): Value | null {
  const { base, index, shift, displacementHigh, displacementLow, narrow, segment } = operand;
  const displacement = (BigInt(displacementHigh) << WORD_BITS) | BigInt(displacementLow);
  const terms: (Value | null)[] = [];
  if (base !== null) terms.push(held(base, values, builder));
  if (index !== null) {
    const once = held(index, values, builder);
    terms.push(shift === 0 ? once : builder.make(shiftLeft, once, builder.constant(BigInt(shift))));
  }
  if (displacement !== 0n || terms.length === 0) terms.push(builder.constant(displacement));
  const sum = terms.reduce((left, right) => builder.make(add, left, right));
  const trimmed = narrow ? lowBits(sum, 32, false, builder) : sum;
  return segment < 0 ? trimmed : builder.make(add, trimmed, values[segment] ?? null);
}

function sourceValue(source: Source, values: RegisterValues, builder: ProgramBuilder): Value | null {
  if (source.kind === "constant") return builder.constant(source.value);
  if (source.kind === "address") return addressValue(source.operand, values, builder);
  if (source.kind === "memory") {
    return lowBits(builder.load(addressValue(source.operand, values, builder)), source.bits, source.isSigned, builder);
  }
  return lowBits(values[source.place] ?? null, source.bits, source.isSigned, builder);
}

function effectValue({ bits, left, by }: Effect, values: RegisterValues, builder: ProgramBuilder): Value | null {
  const first = sourceValue(left, values, builder);
  const result = by === null ? first : builder.make(by.operation, first, sourceValue(by.right, values, builder));
  return lowBits(result, bits, false, builder);
}

const withoutWritten = (values: RegisterValues, writes: number): (Value | null)[] =>
  values.map((value, place) => (((writes >>> place) & 1) === 1 ? null : value));

/** What registers hold after an instruction. */
export function valuesAfter(step: Step, before: RegisterValues, builder: ProgramBuilder): RegisterValues {
  const { writes, effect } = step;
  if (writes === 0) return before;
  const after = withoutWritten(before, writes);
  if (effect !== null) after[effect.place] = effectValue(effect, before, builder);
  return after;
}

/** What registers held before an instruction, as far as it can be undone. */
export function valuesBefore(step: Step, after: RegisterValues, builder: ProgramBuilder): RegisterValues {
  const { writes, effect } = step;
  if (writes === 0) return after;
  const before = withoutWritten(after, writes);
  if (effect?.bits !== 64 || effect.left.kind !== "register" || effect.left.bits !== 64) return before;
  const { place, left, by } = effect;
  const result = after[place] ?? null;
  if (by === null) before[left.place] ??= result;
  else if (left.place === place) {
    const inverse = INVERSES[by.operation];
    const right = inverse === undefined ? null : sourceValue(by.right, before, builder);
    before[place] = inverse === undefined ? null : builder.make(inverse, result, right);
  }
  return before;
}
