/** perf's data source word: what a sampled access did, where its data came from and what delayed it. */

/** Three states: an unset field is not a no. */
export type Known = "yes" | "no" | "unknown";

export interface DataSource {
  /** prefetch and exec are neither loads nor stores of the program's data. */
  readonly op: "load" | "store" | "load_store" | "prefetch" | "exec" | "unknown";
  readonly level: Level | null;
  /** True where that level had the data, false where it missed; null where the word does not say. */
  readonly hit: boolean | null;
  /** The data lay with another core or node. */
  readonly remote: boolean;
  /** 1 another core of this node, 2 another node of this socket, 3 another socket, 4 another board; 0 for none said. */
  readonly hops: number;
  readonly snoop: "none" | "hit" | "miss" | "hit_modified" | "forward" | "peer" | null;
  readonly tlb: {
    readonly level: "L1" | "L2" | "L1_or_L2" | "walker" | "os" | null;
    readonly hit: boolean | null;
  } | null;
  readonly locked: Known;
  /** A load that waited for an earlier store: for its data or for its address. */
  readonly blocked: { readonly data: boolean; readonly address: boolean } | null;
}

export type Level =
  | "L1"
  | "L2"
  | "L3"
  | "L4"
  | "L0"
  | "L2_MHB"
  | "MSC"
  | "LFB"
  | "any_cache"
  | "DRAM"
  | "PMEM"
  | "CXL"
  | "remote_cache"
  | "IO"
  | "uncached";

/**
 * Fields of union perf_mem_data_src (include/uapi/linux/perf_event.h), shift and width in bits. Bits from 46 on have
 * meanings that are not settled: they are never decoded.
 */
export const DATA_SRC_FIELDS = {
  op: [0, 5],
  lvl: [5, 14],
  snoop: [19, 5],
  lock: [24, 2],
  dtlb: [26, 7],
  lvl_num: [33, 4],
  remote: [37, 1],
  snoopx: [38, 2],
  blk: [40, 3],
  hops: [43, 3],
} as const satisfies Record<string, readonly [shift: number, width: number]>;

type FieldName = keyof typeof DATA_SRC_FIELDS;

function field(word: bigint, name: FieldName): number {
  const [shift, width] = DATA_SRC_FIELDS[name];
  return Number((word >> BigInt(shift)) & ((1n << BigInt(width)) - 1n));
}

const NA = 1;
const OP = { load: 2, store: 4, prefetch: 8, exec: 16 } as const;
const HIT = 2;
const MISS = 4;

/** PERF_MEM_LVLNUM_*; 15 says that there is none. */
const LEVEL_NUMBERS: Readonly<Record<number, Level>> = {
  1: "L1",
  2: "L2",
  3: "L3",
  4: "L4",
  5: "L2_MHB",
  6: "MSC",
  7: "L0",
  8: "uncached",
  9: "CXL",
  10: "IO",
  11: "any_cache",
  12: "LFB",
  13: "DRAM",
  14: "PMEM",
};
/** PERF_MEM_LVL_* of kernels before 4.14, and beside the number since; the first that is set counts. */
const LEVEL_FLAGS: readonly (readonly [flag: number, level: Level])[] = [
  [0x8, "L1"],
  [0x10, "LFB"],
  [0x20, "L2"],
  [0x40, "L3"],
  [0x80, "DRAM"],
  [0x100, "DRAM"],
  [0x200, "DRAM"],
  [0x400, "remote_cache"],
  [0x800, "remote_cache"],
  [0x1000, "IO"],
  [0x2000, "uncached"],
];
const REMOTE_FLAGS = 0x100 | 0x200 | 0x400 | 0x800;
const SNOOPS = [
  [0x10, "hit_modified"],
  [0x4, "hit"],
  [0x8, "miss"],
  [0x2, "none"],
] as const;
/** Both bits of L1 and L2 say that it was one of them. */
const TLB_L1_OR_L2 = 0x18;
const TLB_LEVELS = [
  [0x20, "walker"],
  [0x40, "os"],
  [0x10, "L2"],
  [0x8, "L1"],
] as const;

/** Hit or miss, where exactly one of them is said. */
function hitOf(flags: number): boolean | null {
  const said = flags & (HIT | MISS);
  return said === HIT ? true : said === MISS ? false : null;
}

function opOf(op: number): DataSource["op"] {
  if (op & OP.prefetch) return "prefetch";
  const both = op & (OP.load | OP.store);
  if (both === (OP.load | OP.store)) return "load_store";
  if (both === OP.load) return "load";
  if (both === OP.store) return "store";
  return op & OP.exec ? "exec" : "unknown";
}

/** The number where there is one that means a level, else the flags. */
function levelOf(number: number, flags: number): Level | null {
  const named = number === 11 ? undefined : LEVEL_NUMBERS[number];
  const flagged = LEVEL_FLAGS.find(([flag]) => flags & flag)?.[1];
  return named ?? flagged ?? LEVEL_NUMBERS[number] ?? null;
}

function snoopOf(snoop: number, extended: number): DataSource["snoop"] {
  if (extended & 2) return "peer";
  if (extended & 1) return "forward";
  return SNOOPS.find(([flag]) => snoop & flag)?.[1] ?? null;
}

function tlbOf(dtlb: number): DataSource["tlb"] {
  if ((dtlb & ~NA) === 0) return null;
  if ((dtlb & TLB_L1_OR_L2) === TLB_L1_OR_L2) return { level: "L1_or_L2", hit: hitOf(dtlb) };
  return { level: TLB_LEVELS.find(([flag]) => dtlb & flag)?.[1] ?? null, hit: hitOf(dtlb) };
}

/** A mask of bits that say something: an NA bit beside others is not believed. */
const says = (flags: number): boolean => (flags & ~NA) !== 0;

/** Decodes a data source word; any 64-bit value gives an answer, and bits from 46 on change nothing. */
export function decodeDataSource(word: bigint): DataSource {
  const lvl = field(word, "lvl");
  const op = field(word, "op");
  const lock = field(word, "lock");
  const blk = field(word, "blk");
  return {
    op: opOf(op),
    level: levelOf(field(word, "lvl_num"), lvl),
    hit: hitOf(lvl),
    remote: field(word, "remote") === 1 || (lvl & REMOTE_FLAGS) !== 0,
    hops: field(word, "hops"),
    snoop: snoopOf(field(word, "snoop"), field(word, "snoopx")),
    tlb: tlbOf(field(word, "dtlb")),
    // No bit is a no only in a word that says something at all.
    locked: lock & 2 ? "yes" : lock & NA || !says(op) ? "unknown" : "no",
    blocked: says(blk) ? { data: (blk & 2) !== 0, address: (blk & 4) !== 0 } : null,
  };
}
