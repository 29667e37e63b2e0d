/**
 * How much longer string instructions take while a register watches: memcpy, memset, and the kernel's copies and clearing of pages are made of
 * them, and some processors run them byte by byte as soon as any data breakpoint is on, wherever it lies and whoever runs.
 */
import { stableBytes } from "../../../kernel/foreign-memory.ts";
import { monotonicNs } from "../../../kernel/libc.ts";
import type { MachineCode } from "../../../kernel/machine-code.ts";

/** How many times as long a copy takes, of a page and of as much as a large one; 1 where a register does not matter. */
export interface CopySlowdown {
  readonly page: number;
  readonly large: number;
}

/** Copies that take less than this many times as long are as quick as ever, by the noise of the clock. */
const LEAST_SLOWDOWN = 1.3;

/** True where a register matters. */
export const isSlower = ({ large }: CopySlowdown): boolean => large >= LEAST_SLOWDOWN;

/** Share of the time of something so many times as slow that it would not take alone, in [0, 1). */
export const lostIn = (times: number): number => Math.max(0, 1 - 1 / times);

const PAGE_BYTES = 4096;
const LARGE_BYTES = 65_536;
const COPIES = 4;
/** Of each the quickest counts: others were interrupted. */
const BLOCKS = 5;

/** The quickest copy, ns. */
function copyNs(code: MachineCode, bytes: number): number {
  const [target, source] = [stableBytes(bytes), stableBytes(bytes)];
  let least = Number.POSITIVE_INFINITY;
  for (let block = 0; block < BLOCKS; block++) {
    const begin = monotonicNs();
    for (let i = 0; i < COPIES; i++) code.copy(target, source);
    least = Math.min(least, Number(monotonicNs() - begin) / COPIES);
  }
  return least;
}

/**
 * Times copies of our own with and without a register, in some ms.
 * @param arm puts a watch that nothing touches into a register of every CPU, and gives what takes it out
 */
export function copySlowdown(code: MachineCode, arm: () => { disarm(): unknown }): CopySlowdown {
  const sizes = [PAGE_BYTES, LARGE_BYTES];
  const alone = sizes.map((bytes) => copyNs(code, bytes));
  const armed = arm();
  try {
    const [page = 1, large = 1] = sizes.map((bytes, i) => Math.max(1, copyNs(code, bytes) / (alone[i] ?? 1)));
    return { page, large };
  } finally {
    armed.disarm();
  }
}
