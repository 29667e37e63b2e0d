/** Where the fields of a sample lie: fixed places for those before the first of variable size, a walk for the rest. */
import { BRANCH, READ_FORMAT, SAMPLE } from "./abi.ts";
import type { EventAttribute } from "./attribute.ts";

/** Offsets in 64-bit words from the start of the record; -1 where the sample lacks the field. */
export interface SamplePlan {
  readonly identifier: number;
  readonly ip: number;
  readonly tid: number;
  readonly time: number;
  readonly addr: number;
  readonly id: number;
  readonly cpu: number;
  readonly period: number;
  /** First word behind these. */
  readonly tail: number;
  readonly sampleType: number;
  readonly readFormat: number;
  readonly branchSampleType: number;
  /** Registers of a user's and of an interrupted context, where they were recorded. */
  readonly userRegisters: number;
  readonly interruptRegisters: number;
}

/** Fields of fixed size in the order in which perf_output_sample (kernel/events/core.c) writes them. */
const FIXED = [
  ["identifier", SAMPLE.IDENTIFIER],
  ["ip", SAMPLE.IP],
  ["tid", SAMPLE.TID],
  ["time", SAMPLE.TIME],
  ["addr", SAMPLE.ADDR],
  ["id", SAMPLE.ID],
  ["stream", SAMPLE.STREAM_ID],
  ["cpu", SAMPLE.CPU],
  ["period", SAMPLE.PERIOD],
] as const;

function popcount(mask: bigint): number {
  let bits = 0;
  for (let rest = mask; rest !== 0n; rest >>= 1n) bits += Number(rest & 1n);
  return bits;
}

export function planSamples(attribute: EventAttribute): SamplePlan {
  const places = { identifier: -1, ip: -1, tid: -1, time: -1, addr: -1, id: -1, stream: -1, cpu: -1, period: -1 };
  let word = 1;
  for (const [name, bit] of FIXED) if (attribute.sample_type & bit) places[name] = word++;
  return {
    ...places,
    tail: word,
    sampleType: attribute.sample_type,
    readFormat: attribute.read_format,
    branchSampleType: attribute.branch_sample_type,
    userRegisters: popcount(attribute.regs_user),
    interruptRegisters: popcount(attribute.regs_intr),
  };
}

/** Slots that `walkTail` fills with word offsets from the start of the record; -1 where the field is absent. */
export const TAIL = { WEIGHT: 0, DATA_SRC: 1, REGS_INTR: 2 } as const;

/** Fields behind the fixed ones that are read at all; with none of them the walk is not needed. */
const OF_INTEREST = SAMPLE.WEIGHT | SAMPLE.WEIGHT_STRUCT | SAMPLE.DATA_SRC | SAMPLE.REGS_INTR;

export function needsWalk(plan: SamplePlan): boolean {
  return (plan.sampleType & OF_INTEREST) !== 0;
}

/**
 * Walks from the first field behind the fixed ones to the last that is of interest.
 * @param words the record's file as 32-bit words in this machine's byte order
 * @param start 32-bit index of the record; @param size its length in 64-bit words
 * @param low 0, or 1 where the high half of a 64-bit word comes first
 * @returns false where a field would end behind the record
 */
export function walkTail(
  words: Uint32Array,
  start: number,
  size: number,
  low: 0 | 1,
  plan: SamplePlan,
  found: Int32Array,
): boolean {
  const type = plan.sampleType;
  let word = plan.tail;
  found[TAIL.WEIGHT] = found[TAIL.DATA_SRC] = found[TAIL.REGS_INTR] = -1;
  /** A count in a 64-bit word; one too large for the record becomes its size, which ends the walk. */
  const count = (countWord: number): number => {
    if (countWord >= size) return size;
    const high = words[start + 2 * countWord + 1 - low] ?? 0;
    return high !== 0 ? size : Math.min(size, words[start + 2 * countWord + low] ?? 0);
  };
  if (type & SAMPLE.READ) {
    const format = plan.readFormat;
    const times = (format & READ_FORMAT.TIME_ENABLED ? 1 : 0) + (format & READ_FORMAT.TIME_RUNNING ? 1 : 0);
    const each = 1 + (format & READ_FORMAT.ID ? 1 : 0) + (format & READ_FORMAT.LOST ? 1 : 0);
    word += format & READ_FORMAT.GROUP ? 1 + times + count(word) * each : times + each;
  }
  if (type & SAMPLE.CALLCHAIN) word += 1 + count(word);
  // A 32-bit size and its bytes, together padded to whole words.
  if (type & SAMPLE.RAW) word += word < size ? Math.ceil((4 + (words[start + 2 * word] ?? 0)) / 8) : 1;
  if (type & SAMPLE.BRANCH_STACK) {
    const entries = count(word);
    word += 1 + (plan.branchSampleType & BRANCH.HW_INDEX ? 1 : 0) + 3 * entries;
    if (plan.branchSampleType & BRANCH.COUNTERS) word += entries;
  }
  if (type & SAMPLE.REGS_USER) word += 1 + (count(word) === 0 ? 0 : plan.userRegisters);
  if (type & SAMPLE.STACK_USER) {
    const bytes = word < size ? (words[start + 2 * word + low] ?? 0) : 0;
    word += bytes === 0 ? 1 : 2 + Math.ceil(bytes / 8);
  }
  if (type & (SAMPLE.WEIGHT | SAMPLE.WEIGHT_STRUCT)) found[TAIL.WEIGHT] = word++;
  if (type & SAMPLE.DATA_SRC) found[TAIL.DATA_SRC] = word++;
  if (type & SAMPLE.TRANSACTION) word++;
  if (type & SAMPLE.REGS_INTR) {
    if (word < size && count(word) !== 0) found[TAIL.REGS_INTR] = word + 1;
    word += 1 + (count(word) === 0 ? 0 : plan.interruptRegisters);
  }
  return word <= size;
}

/** Fields of variable size; a sample without them has every field at the same place. */
const VARIABLE =
  SAMPLE.CALLCHAIN | SAMPLE.RAW | SAMPLE.BRANCH_STACK | SAMPLE.REGS_USER | SAMPLE.STACK_USER | SAMPLE.REGS_INTR;
const MOST_FIXED_WORDS = 64;

/**
 * What `walkTail` finds in every sample of the plan that is long enough, so that none needs to be walked.
 * @returns least length of such a sample in 64-bit words; null where it differs from sample to sample
 */
export function fixedTail(plan: SamplePlan, found: Int32Array): number | null {
  const groups = (plan.sampleType & SAMPLE.READ) !== 0 && (plan.readFormat & READ_FORMAT.GROUP) !== 0;
  if (groups || (plan.sampleType & VARIABLE) !== 0) return null;
  const empty = new Uint32Array(0);
  for (let words = plan.tail; words <= MOST_FIXED_WORDS; words++) {
    if (walkTail(empty, 0, words, 0, plan, found)) return words;
  }
  return null;
}
