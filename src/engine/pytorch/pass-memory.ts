/**
 * What forward passes allocate and give back while they compute. Each call of torch's allocator that is probed costs its caller a
 * microsecond, and a pass makes hundreds of them: a few passes of every eight seconds are looked at.
 */
import { binOf } from "../../statistics/doubling-bins.ts";

/** Blocks of the passes that were seen whole, since they were told of last. */
export interface PassMemoryTold {
  readonly passes: number;
  readonly allocations: number;
  readonly bytes: number;
  /** The most bytes that one of the passes held of its own at one moment. */
  readonly most_bytes: number;
  /** Bytes that were not given back while somebody looked. */
  readonly open_bytes: number;
  /** By the bin of the ns that they were kept: allocations and bytes. */
  readonly kept: ReadonlyMap<number, readonly [allocations: number, bytes: number]>;
}

export interface PassMemory {
  begin(pass: number): void;
  end(pass: number, time_ns: bigint): void;
  /** @param pass the one that its thread is in; null for none */
  allocate(addr: bigint, bytes: number, pass: number | null, time_ns: bigint): void;
  free(addr: bigint, time_ns: bigint): void;
  /** A block is a part of a cache, which outlives its pass. */
  keep(addr: bigint): void;
  /** True while the allocator is to be probed. @param passes how many were seen @param period_ns from one to the next */
  isAsking(now_ns: bigint, passes: number, period_ns: number): boolean;
  /** All that is looked at is over. */
  close(): void;
  /** Takes what was seen since the last call; null where nothing was. */
  takeTold(): PassMemoryTold | null;
}

interface Block {
  readonly bytes: number;
  readonly born_ns: bigint;
  freed_ns: bigint | null;
  /** False for what is a cache's, and for what was given back without being seen. */
  counts: boolean;
}

interface Pass {
  end_ns: bigint | null;
  readonly blocks: Block[];
}

/** A look: its two probes do not come and go at the same moment. */
interface Look {
  /** The last calls that were seen; null before the first. */
  allocated_ns: bigint | null;
  freed_ns: bigint | null;
  blocks: number;
  /** Those that began in it. */
  readonly passes: Map<number, Pass>;
  readonly living: Map<bigint, Block>;
}

const [PERIOD_NS, SETTLED_NS] = [8_000_000_000, 1_000_000_000];
/** A look lasts so long at least and at most, and as many passes between. */
const [LEAST_NS, MOST_NS, PASSES] = [100_000_000, 2_000_000_000, 4];
/** Of one look: a program that allocates more is let alone until the next. */
const MOST_BLOCKS = 65_536;
/** Passes that have to be seen before anybody looks at what they allocate. */
const FEWEST_PASSES = 3;

/** The most bytes of the blocks that are there at one moment; of one moment what goes does so before others come. */
function mostHeld(blocks: readonly Block[]): number {
  const changes = blocks.flatMap(({ bytes, born_ns, freed_ns }): (readonly [time: bigint, bytes: number])[] =>
    freed_ns === null
      ? [[born_ns, bytes]]
      : [
          [born_ns, bytes],
          [freed_ns, -bytes],
        ],
  );
  changes.sort(([a, x], [b, y]) => Number(a - b) || x - y);
  let held = 0;
  let most = 0;
  for (const [, bytes] of changes) {
    held += bytes;
    most = Math.max(most, held);
  }
  return most;
}

/** None yet. */
export function passMemory(): PassMemory {
  let begun: bigint | null = null;
  let look: Look | null = null;
  let sums: (PassMemoryTold & { readonly kept: Map<number, readonly [number, number]> }) | null = null;

  const nowLooking = (): Look => {
    look ??= { allocated_ns: null, freed_ns: null, blocks: 0, passes: new Map(), living: new Map() };
    return look;
  };

  function add(blocks: readonly Block[]): void {
    const kept = sums?.kept ?? new Map<number, readonly [number, number]>();
    let [bytes, open_bytes] = [0, 0];
    for (const block of blocks) {
      bytes += block.bytes;
      if (block.freed_ns === null) {
        open_bytes += block.bytes;
        continue;
      }
      const bin = binOf(Number(block.freed_ns - block.born_ns));
      const [allocations, sum] = kept.get(bin) ?? [0, 0];
      kept.set(bin, [allocations + 1, sum + block.bytes]);
    }
    sums = {
      passes: (sums?.passes ?? 0) + 1,
      allocations: (sums?.allocations ?? 0) + blocks.length,
      bytes: (sums?.bytes ?? 0) + bytes,
      most_bytes: Math.max(sums?.most_bytes ?? 0, mostHeld(blocks)),
      open_bytes: (sums?.open_bytes ?? 0) + open_bytes,
      kept,
    };
  }

  function close(): void {
    if (look === null) return;
    const { passes, allocated_ns, freed_ns } = look;
    look = null;
    const isWatched = (time_ns: bigint): boolean => time_ns <= (allocated_ns ?? 0n) && time_ns <= (freed_ns ?? 0n);
    for (const { end_ns, blocks } of passes.values()) {
      // One during which a probe was taken away may lack some.
      if (end_ns !== null && isWatched(end_ns)) add(blocks.filter(({ counts }) => counts));
    }
  }

  return {
    begin(pass) {
      if (look === null || look.allocated_ns === null || look.freed_ns === null) return;
      look.passes.set(pass, { end_ns: null, blocks: [] });
    },
    end(pass, time_ns) {
      const ended = look?.passes.get(pass);
      if (ended) ended.end_ns ??= time_ns;
    },
    allocate(addr, bytes, pass, time_ns) {
      const current = nowLooking();
      const { living, passes } = current;
      current.allocated_ns = time_ns;
      const before = living.get(addr);
      // Its end was not seen.
      if (before) before.counts = false;
      living.delete(addr);
      const blocks = pass === null ? undefined : passes.get(pass)?.blocks;
      if (blocks === undefined || current.blocks >= MOST_BLOCKS) return;
      const block: Block = { bytes, born_ns: time_ns, freed_ns: null, counts: true };
      blocks.push(block);
      living.set(addr, block);
      current.blocks += 1;
    },
    free(addr, time_ns) {
      const current = nowLooking();
      const { living } = current;
      current.freed_ns = time_ns;
      const block = living.get(addr);
      if (block) block.freed_ns = time_ns;
      living.delete(addr);
    },
    keep(addr) {
      const block = look?.living.get(addr);
      if (block) block.counts = false;
    },
    isAsking(now_ns, passes, period_ns) {
      if (begun === null && passes >= FEWEST_PASSES) begun = now_ns;
      if (begun === null) return false;
      const phase = Number(now_ns - begun) % PERIOD_NS;
      const asked = Math.min(MOST_NS, Math.max(LEAST_NS, PASSES * period_ns));
      if (phase >= asked + SETTLED_NS) close();
      return phase < asked && (look?.blocks ?? 0) < MOST_BLOCKS;
    },
    close,
    takeTold() {
      const taken = sums;
      sums = null;
      return taken;
    },
  };
}
