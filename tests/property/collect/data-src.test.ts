import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { DATA_SRC_FIELDS, type DataSource, decodeDataSource } from "../../../src/collect/data-src.ts";
import { CACHE_LEVELS, cacheLevelOf } from "../../../src/label/trace/cache-level.ts";

type Option = readonly [names: readonly string[], means: Partial<DataSource>];

/** What each constant of linux/perf_event.h means; their values come from the header, by the C compiler. */
const OPTIONS: Readonly<Record<string, readonly Option[]>> = {
  op: [
    [["OP_NA"], { op: "unknown" }],
    [["OP_LOAD"], { op: "load" }],
    [["OP_STORE"], { op: "store" }],
    [["OP_LOAD", "OP_STORE"], { op: "load_store" }],
    [["OP_PFETCH"], { op: "prefetch" }],
    [["OP_LOAD", "OP_PFETCH"], { op: "prefetch" }],
    [["OP_EXEC"], { op: "exec" }],
  ],
  level: [
    [["LVL_NA"], { level: null, hit: null, remote: false }],
    [["LVL_NA", "LVLNUM_NA"], { level: null, hit: null, remote: false }],
    [["LVL_HIT", "LVL_L1"], { level: "L1", hit: true, remote: false }],
    [["LVL_MISS", "LVL_L1"], { level: "L1", hit: false, remote: false }],
    [["LVL_HIT", "LVL_LFB"], { level: "LFB", hit: true, remote: false }],
    [["LVL_HIT", "LVL_L2"], { level: "L2", hit: true, remote: false }],
    [["LVL_HIT", "LVL_L3"], { level: "L3", hit: true, remote: false }],
    [["LVL_HIT", "LVL_LOC_RAM"], { level: "DRAM", hit: true, remote: false }],
    [["LVL_HIT", "LVL_REM_RAM1"], { level: "DRAM", hit: true, remote: true }],
    [["LVL_HIT", "LVL_REM_RAM2"], { level: "DRAM", hit: true, remote: true }],
    [["LVL_HIT", "LVL_REM_CCE1"], { level: "remote_cache", hit: true, remote: true }],
    [["LVL_HIT", "LVL_REM_CCE2"], { level: "remote_cache", hit: true, remote: true }],
    [["LVL_HIT", "LVL_IO"], { level: "IO", hit: true, remote: false }],
    [["LVL_HIT", "LVL_UNC"], { level: "uncached", hit: true, remote: false }],
    [["LVLNUM_L1"], { level: "L1", hit: null, remote: false }],
    [["LVLNUM_L2", "LVL_L2", "LVL_HIT"], { level: "L2", hit: true, remote: false }],
    [["LVLNUM_L3", "LVL_L3", "LVL_MISS"], { level: "L3", hit: false, remote: false }],
    [["LVLNUM_L4"], { level: "L4", hit: null, remote: false }],
    [["LVLNUM_LFB", "LVL_L1"], { level: "LFB", hit: null, remote: false }],
    [["LVLNUM_RAM", "REMOTE_REMOTE"], { level: "DRAM", hit: null, remote: true }],
    [["LVLNUM_PMEM"], { level: "PMEM", hit: null, remote: false }],
    [["LVLNUM_CXL"], { level: "CXL", hit: null, remote: false }],
    [["LVLNUM_L2_MHB"], { level: "L2_MHB", hit: null, remote: false }],
    [["LVLNUM_MSC"], { level: "MSC", hit: null, remote: false }],
    [["LVLNUM_L0"], { level: "L0", hit: null, remote: false }],
    [["LVLNUM_UNC"], { level: "uncached", hit: null, remote: false }],
    [["LVLNUM_IO"], { level: "IO", hit: null, remote: false }],
    [["LVLNUM_ANY_CACHE"], { level: "any_cache", hit: null, remote: false }],
    [["LVLNUM_ANY_CACHE", "LVL_L3", "LVL_HIT"], { level: "L3", hit: true, remote: false }],
  ],
  snoop: [
    [["SNOOP_NA"], { snoop: null }],
    [["SNOOP_NONE"], { snoop: "none" }],
    [["SNOOP_HIT"], { snoop: "hit" }],
    [["SNOOP_MISS"], { snoop: "miss" }],
    [["SNOOP_HITM"], { snoop: "hit_modified" }],
    [["SNOOP_NONE", "SNOOPX_FWD"], { snoop: "forward" }],
    [["SNOOPX_PEER"], { snoop: "peer" }],
  ],
  lock: [
    [["LOCK_NA"], { locked: "unknown" }],
    [["LOCK_LOCKED"], { locked: "yes" }],
  ],
  tlb: [
    [["TLB_NA"], { tlb: null }],
    [["TLB_HIT", "TLB_L1"], { tlb: { level: "L1", hit: true } }],
    [["TLB_HIT", "TLB_L2"], { tlb: { level: "L2", hit: true } }],
    [["TLB_MISS", "TLB_L2"], { tlb: { level: "L2", hit: false } }],
    [["TLB_HIT", "TLB_L1", "TLB_L2"], { tlb: { level: "L1_or_L2", hit: true } }],
    [["TLB_HIT", "TLB_WK"], { tlb: { level: "walker", hit: true } }],
    [["TLB_MISS", "TLB_OS"], { tlb: { level: "os", hit: false } }],
  ],
  blocked: [
    [["BLK_NA"], { blocked: null }],
    [["BLK_DATA"], { blocked: { data: true, address: false } }],
    [["BLK_ADDR"], { blocked: { data: false, address: true } }],
    [["BLK_DATA", "BLK_ADDR"], { blocked: { data: true, address: true } }],
  ],
  hops: [
    [[], { hops: 0 }],
    [["HOPS_0"], { hops: 1 }],
    [["HOPS_1"], { hops: 2 }],
    [["HOPS_2"], { hops: 3 }],
    [["HOPS_3"], { hops: 4 }],
  ],
};

/** Numbers of levels that headers of Linux 6.1 do not have yet, as in include/uapi/linux/perf_event.h of 6.12 and later. */
const NEWER: Readonly<Record<string, bigint>> = { LVLNUM_L2_MHB: 5n, LVLNUM_MSC: 6n, LVLNUM_L0: 7n, LVLNUM_UNC: 8n };
const LVLNUM_SHIFT = 33n;

/** The value of every constant that the table names, shifted to its place, as the C compiler has them. */
function constants(): Map<string, bigint> {
  const names = [...new Set(Object.values(OPTIONS).flatMap((options) => options.flatMap(([list]) => list)))].filter(
    (name) => NEWER[name] === undefined,
  );
  const folder = mkdtempSync(join(tmpdir(), "mrm-data-src-"));
  try {
    const prints = names.map((name) => {
      const cut = name.indexOf("_");
      const call = `PERF_MEM_S(${name.slice(0, cut)}, ${name.slice(cut + 1)})`;
      return `printf("${name} %llu\\n", (unsigned long long)${call});`;
    });
    const text = `#include <stdio.h>\n#include <linux/perf_event.h>\nint main(void) { ${prints.join("\n")} return 0; }`;
    writeFileSync(join(folder, "names.c"), text);
    const cc = Bun.spawnSync(["cc", "-o", join(folder, "names"), join(folder, "names.c")], { stderr: "pipe" });
    if (cc.exitCode !== 0) throw new Error(`cc failed: ${cc.stderr}`);
    const lines = Bun.spawnSync([join(folder, "names")])
      .stdout.toString()
      .trim()
      .split("\n");
    return new Map([
      ...lines.map((line) => line.split(" ")).map(([name = "", value = "0"]) => [name, BigInt(value)] as const),
      ...Object.entries(NEWER).map(([name, number]) => [name, number << LVLNUM_SHIFT] as const),
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const VALUES = constants();
const wordOf = (option: Option): bigint => option[0].reduce((word, name) => word | (VALUES.get(name) ?? 0n), 0n);
const RESERVED_SHIFT = 46n;

test("every encoding that the kernel's header names is decoded to what it means", () => {
  const choice = fc.record(
    Object.fromEntries(Object.entries(OPTIONS).map(([field, options]) => [field, fc.constantFrom(...options)])),
  );
  fc.assert(
    fc.property(choice, (chosen) => {
      const options = Object.values(chosen);
      const word = options.reduce((sum, option) => sum | wordOf(option), 0n);
      const means = Object.assign({}, ...options.map(([, part]) => part));
      expect(decodeDataSource(word)).toEqual(means);
    }),
    { numRuns: 3000 },
  );
});

test("each option of each field is decoded by itself, too", () => {
  for (const options of Object.values(OPTIONS)) {
    for (const option of options) expect(decodeDataSource(wordOf(option))).toMatchObject(option[1]);
  }
});

test("fields lie side by side up to bit 45, and what lies above changes nothing", () => {
  let next: number = 0;
  for (const [shift, width] of Object.values(DATA_SRC_FIELDS)) {
    expect(Number(shift)).toBe(next);
    next = shift + width;
  }
  expect(BigInt(next)).toBe(RESERVED_SHIFT);
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), (word) => {
      const decoded = decodeDataSource(word);
      expect(decodeDataSource(word & ((1n << RESERVED_SHIFT) - 1n))).toEqual(decoded);
    }),
    { numRuns: 2000 },
  );
});

test("a word that says nothing is not taken for an answer", () => {
  for (const word of [0n, 0x5080021n, 0x1e05080021n]) {
    expect(decodeDataSource(word)).toEqual({
      op: "unknown",
      level: null,
      hit: null,
      remote: false,
      hops: 0,
      snoop: null,
      tlb: null,
      locked: "unknown",
      blocked: null,
    });
  }
});

test("the levels of the labelled trace are those of the decoder, for every level word", () => {
  const inTrace: readonly string[] = CACHE_LEVELS;
  const levelOf = cacheLevelOf();
  let wrong = 0;
  for (const number of [0, 1, 2, 3, 4, 11, 12, 13, 15]) {
    for (let flags = 0; flags < 16384; flags++) {
      const word = (BigInt(number) << 33n) | (BigInt(flags) << 5n) | 0x1e0_0000_001fn;
      const { level } = decodeDataSource(word);
      const shown = level !== null && inTrace.includes(level) ? level : null;
      const found = CACHE_LEVELS[levelOf(Number(word & 0xffffffffn), Number(word >> 32n))] ?? null;
      if (shown !== found) wrong += 1;
    }
  }
  expect(wrong).toBe(0);
});
