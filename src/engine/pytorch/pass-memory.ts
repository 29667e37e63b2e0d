/**
 * What forward passes allocate and give back while they compute. Each call of torch's allocator that is probed costs its caller a
 * microsecond, and a pass makes hundreds of them: a few passes are looked at, eight seconds later some more, and ever more seldom while
 * they allocate as they did before.
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
  /** How many of them have ended. */
  ended: number;
  readonly living: Map<bigint, Block>;
}

const SETTLED_NS = 1_000_000_000;
/** From the begin of a look to that of the next: at first, and at most. */
const [SOON_NS, SELDOM_NS] = [8_000_000_000, 64_000_000_000];
/** Passes allocate as those of the look before where the medians of their allocations differ by no more than such a part. */
const ALIKE = 1 / 8;
/** A look lasts so long at least and at most, and as many passes between. */
const [LEAST_NS, MOST_NS, PASSES] = [100_000_000, 2_000_000_000, 4];
/** It ends before, where so many were seen from begin to end: behind its end a call must have been seen, as of the next one. */
const ENOUGH_PASSES = 8;
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
  /** The last look that was asked for; null before the first. */
  let turn: { readonly begin_ns: bigint; isOver: boolean } | null = null;
  /** From its begin to that of the next. */
  let distanceNs = SOON_NS;
  /** Allocations of a pass in the look before, by their median; null where it saw none from begin to end. */
  let usual: number | null = null;
  let look: Look | null = null;
  let sums: (PassMemoryTold & { readonly kept: Map<number, readonly [number, number]> }) | null = null;

  const nowLooking = (): Look => {
    look ??= { allocated_ns: null, freed_ns: null, blocks: 0, ended: 0, passes: new Map(), living: new Map() };
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

  /** @returns how many allocations each pass made that was seen whole */
  function close(): readonly number[] {
    if (look === null) return [];
    const { passes, allocated_ns, freed_ns } = look;
    look = null;
    const isWatched = (time_ns: bigint): boolean => time_ns <= (allocated_ns ?? 0n) && time_ns <= (freed_ns ?? 0n);
    // One during which a probe was taken away may lack some.
    const whole = [...passes.values()].filter(({ end_ns }) => end_ns !== null && isWatched(end_ns));
    for (const { blocks } of whole) add(blocks.filter(({ counts }) => counts));
    return whole.map(({ blocks }) => blocks.length);
  }

  /** What it told decides when the next one is. */
  function endTurn(): void {
    const seen = close().toSorted((one, other) => one - other);
    const median = seen[seen.length >> 1] ?? null;
    const isAlike = median !== null && usual !== null && Math.abs(median - usual) <= ALIKE * usual;
    distanceNs = isAlike ? Math.min(SELDOM_NS, 2 * distanceNs) : SOON_NS;
    usual = median;
  }

  return {
    begin(pass) {
      if (look === null || look.allocated_ns === null || look.freed_ns === null) return;
      look.passes.set(pass, { end_ns: null, blocks: [] });
    },
    end(pass, time_ns) {
      const ended = look?.passes.get(pass);
      if (look === null || ended === undefined || ended.end_ns !== null) return;
      ended.end_ns = time_ns;
      look.ended += 1;
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
      if (turn === null && passes < FEWEST_PASSES) return false;
      turn ??= { begin_ns: now_ns, isOver: false };
      const asked = Math.min(MOST_NS, Math.max(LEAST_NS, PASSES * period_ns));
      if (Number(now_ns - turn.begin_ns) >= asked + SETTLED_NS) {
        if (turn.isOver) close();
        else endTurn();
        turn.isOver = true;
      }
      if (Number(now_ns - turn.begin_ns) >= distanceNs) turn = { begin_ns: now_ns, isOver: false };
      if (Number(now_ns - turn.begin_ns) >= asked) return false;
      return (look?.blocks ?? 0) < MOST_BLOCKS && (look?.ended ?? 0) <= ENOUGH_PASSES;
    },
    close: () => void close(),
    takeTold() {
      const taken = sums;
      sums = null;
      return taken;
    },
  };
}
