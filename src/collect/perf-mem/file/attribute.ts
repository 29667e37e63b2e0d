/** An event of the file: perf_event_attr, of whatever size the perf that wrote it knew, and its name and ids. */
import { ATTR_FLAG } from "./abi.ts";
import type { Bytes } from "./bytes.ts";

export interface EventAttribute {
  readonly type: number;
  readonly config: bigint;
  /** Events per sample, or samples per second where `by_frequency`. */
  readonly sample_period: bigint;
  readonly by_frequency: boolean;
  readonly sample_type: number;
  /** True where the sample type has bits above 31 or ones that are not known: its samples cannot be read. */
  readonly unknown_fields: boolean;
  readonly read_format: number;
  readonly branch_sample_type: number;
  /** Registers in REGS_USER and REGS_INTR, one bit each. */
  readonly regs_user: bigint;
  readonly regs_intr: bigint;
  /** Every record but samples ends with the fields that name its event. */
  readonly sample_id_all: boolean;
  /** The clock of the times; null for the kernel's own scheduler clock. */
  readonly clockid: number | null;
  /** Address and length of a breakpoint; the extended configuration of other events. */
  readonly bp_type: number;
  readonly bp_addr: bigint;
  readonly bp_len: bigint;
}

/** The least size that was ever published (PERF_ATTR_SIZE_VER0), bytes. */
export const SMALLEST_ATTR_BYTES = 64;

/** Reads `size` bytes at `position`; what a shorter attribute lacks is 0. */
export function readAttribute(bytes: Bytes, position: number, size: number, knownBits: number): EventAttribute {
  const has = (offset: number, width: number): boolean => offset + width <= size;
  const u32 = (offset: number): number => (has(offset, 4) ? bytes.u32(position + offset) : 0);
  const u64 = (offset: number): bigint => (has(offset, 8) ? bytes.u64(position + offset) : 0n);
  const flags = u64(40);
  // A C bit field begins at the other end of the word where bytes do.
  const flag = (bit: number): boolean => ((flags >> BigInt(bytes.swapped ? 63 - bit : bit)) & 1n) === 1n;
  const sampleType = u64(24);
  return {
    type: u32(0),
    config: u64(8),
    sample_period: u64(16),
    by_frequency: flag(ATTR_FLAG.FREQ),
    sample_type: Number(sampleType & 0xffffffffn),
    unknown_fields: (sampleType & ~BigInt(knownBits)) !== 0n,
    read_format: Number(u64(32) & 0xffffffffn),
    branch_sample_type: Number(u64(72) & 0xffffffffn),
    regs_user: u64(80),
    regs_intr: u64(96),
    sample_id_all: flag(ATTR_FLAG.SAMPLE_ID_ALL),
    clockid: flag(ATTR_FLAG.USE_CLOCKID) ? u32(92) | 0 : null,
    bp_type: u32(52),
    bp_addr: u64(56),
    bp_len: u64(64),
  };
}
