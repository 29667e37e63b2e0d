/**
 * SQL for the memory level in perf's data source word.
 * Layout: union perf_mem_data_src of include/uapi/linux/perf_event.h: mem_lvl is bits 5 to 18 (PERF_MEM_LVL_*, older
 * kernels), mem_lvl_num is bits 33 to 36 (PERF_MEM_LVLNUM_*, since 4.14).
 */

const BY_NUMBER: Readonly<Record<number, string>> = { 1: "L1", 2: "L2", 3: "L3", 4: "L4", 12: "LFB", 13: "DRAM" };
/** Bits of mem_lvl with their level; the first that is set counts. */
const BY_BIT: readonly (readonly [bit: number, level: string])[] = [
  [0x08, "L1"],
  [0x10, "LFB"],
  [0x20, "L2"],
  [0x40, "L3"],
  [0x80, "DRAM"],
  [0x100, "DRAM"],
  [0x200, "DRAM"],
];

/** An SQL expression of L1 L2 L3 L4 LFB DRAM or null over the column `source`. */
export function cacheLevelSql(source: string): string {
  const numbers = Object.entries(BY_NUMBER).map(([number, level]) => `WHEN ${number} THEN '${level}'`);
  const bits = BY_BIT.map(([bit, level]) => `WHEN ((${source} >> 5) & ${bit}) <> 0 THEN '${level}'`);
  return `CASE (${source} >> 33) & 15 ${numbers.join(" ")} ELSE CASE ${bits.join(" ")} END END`;
}
