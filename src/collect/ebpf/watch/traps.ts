/** Rows of the kernel program's ring, as traps. */
import type { BlockRows } from "../../../columnar/blocks.ts";
import type { RingLayout } from "../../../schema/c-header.ts";
import { TRAP, WATCH_COOKIE } from "../../../schema/shared-numbers.ts";

export interface Trap {
  readonly timeNs: bigint;
  /** Instruction after the access. */
  readonly ip: bigint;
  readonly registerSi: bigint;
  readonly registerDi: bigint;
  readonly tid: number;
  readonly cpu: number;
  /** See ROLE. */
  readonly role: number;
  readonly inKernel: boolean;
}

/** A watch makes tens of rows, so one object per row costs less than the traps themselves ever could. */
export function forEachTrap(
  { bytes, pieces, begin_bytes, cpu, from, to: end }: BlockRows,
  layout: RingLayout,
  take: (generation: number, trap: Trap) => void,
): void {
  const offsets = new Map(layout.columns.map((column) => [column.name, column.offset]));
  const offsetOf = (name: string) => offsets.get(name) ?? 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (let piece = 0; piece < pieces; piece++) {
    const base = begin_bytes[piece] as number;
    const u64 = (name: string, row: number) => view.getBigUint64(base + offsetOf(name) + row * 8, true);
    const u32 = (name: string, row: number) => view.getUint32(base + offsetOf(name) + row * 4, true);
    for (let row = from[piece] as number; row < (end[piece] as number); row++) {
      const cookie = u32("cookie", row);
      take(cookie >>> WATCH_COOKIE.generation_shift, {
        timeNs: u64("timestamp_ns", row),
        ip: u64("ip", row),
        registerSi: u64("register_si", row),
        registerDi: u64("register_di", row),
        tid: u32("tid", row),
        cpu: cpu[piece] as number,
        role: cookie & WATCH_COOKIE.role_mask,
        inKernel: (u32("trap_flags", row) & TRAP.in_kernel) !== 0,
      });
    }
  }
}
