/** Of which events a period is a number of accesses, or of instructions, so that the accesses among them can be counted by it. */
import { EVENT_TYPE } from "./abi.ts";
import type { EventAttribute } from "./attribute.ts";

const HARDWARE_CACHE = 3;
const RAW_EVENT = 4;
const INSTRUCTIONS = 1n;
/** `config` of the first-level cache: bits 8 to 15 say reads or writes, 16 to 23 all of them or those that missed. */
const L1D = 0n;
const WRITES = 1n;
/** What Intel's cores count all of, by event and unit mask: loads, stores, both, stores of small cores, instructions. */
const WHOLE = new Set([0x81d0n, 0x82d0n, 0x83d0n, 0x06d0n, 0x00c0n, 0x01c0n]);
/** MEM_TRANS_RETIRED: loads of some latency (umask 1), and the stores that are sampled (umask 2). */
const SAMPLED_LOADS = 0x01cdn;
const SAMPLED_STORES = 0x02cdn;
/** Fields of ibs_op (arch/x86/events/amd/ibs.c). */
const IBS_BY_OPS = 1n << 19n;
const IBS_L3_MISSES = 1n << 16n;
const IBS_LEAST_LATENCY = 0xfffn;

const SOME_LOADS = "samples some loads only";
const SOME_STORES = "samples some stores only";
const SOME_ACCESSES = "samples some accesses only";
const BY_CYCLES =
  "is sampled by cycles, among which slow accesses are more often than others (perf record -d -e ibs_op/cnt_ctl=1/ samples by ops)";

/** Of whatever distance its samples are, perf gives each the period 1 (tools/perf/util/arm-spe.c). */
const OF_UNKNOWN_DISTANCE = "takes one operation in so many, which perf does not tell";

/** Arm's statistical profiling extension, of which perf calls the accesses `memory`. */
export const isSpe = (name: string): boolean => /spe|^memory$/i.test(name);
const isLoadLatency = (name: string): boolean => /mem-loads|load.latency/i.test(name);

/** The same by the name alone, for text. */
export function uncountedByName(name: string): string | null {
  if (isLoadLatency(name)) return SOME_LOADS;
  if (isSpe(name)) return OF_UNKNOWN_DISTANCE;
  if (/ibs_op/i.test(name)) {
    if (!/\bcnt_ctl(?:=(?:0x)?0*1)?(?=[,/])/i.test(name)) return BY_CYCLES;
    return /l3missonly(?!=0)|ldlat=(?!0+\b)/i.test(name) ? SOME_ACCESSES : null;
  }
  if (/store_sample/i.test(name)) return SOME_STORES;
  return /mem_load_|miss|_hit|lock_|split_|cycles/i.test(name) ? SOME_ACCESSES : null;
}

/**
 * Why a period of an event is no number of accesses, in words behind its name; null where it is one.
 * @param isIbs whether its PMU is AMD's ibs_op
 */
export function uncounted(
  { type, config, bp_addr: config1 }: EventAttribute,
  name: string,
  isIbs: boolean,
): string | null {
  if (isIbs) {
    if ((config & IBS_BY_OPS) === 0n) return BY_CYCLES;
    return (config & IBS_L3_MISSES) !== 0n || (config1 & IBS_LEAST_LATENCY) !== 0n ? SOME_ACCESSES : null;
  }
  if (isLoadLatency(name)) return SOME_LOADS;
  const event = config & 0xffffn;
  switch (type) {
    case EVENT_TYPE.SOFTWARE:
    case EVENT_TYPE.TRACEPOINT:
    case EVENT_TYPE.BREAKPOINT:
      return null;
    case EVENT_TYPE.HARDWARE:
      return (config & 0xffffffffn) === INSTRUCTIONS ? null : SOME_ACCESSES;
    case HARDWARE_CACHE:
      return (config & 0xffn) === L1D && ((config >> 8n) & 0xffn) <= WRITES && config >> 16n === 0n
        ? null
        : SOME_ACCESSES;
    case RAW_EVENT:
      if (event === SAMPLED_LOADS) return SOME_LOADS;
      return event === SAMPLED_STORES ? SOME_STORES : WHOLE.has(event) ? null : SOME_ACCESSES;
    default:
      // Of a PMU of its own, such as that of the small cores.
      return WHOLE.has(event) ? null : uncountedByName(name);
  }
}
