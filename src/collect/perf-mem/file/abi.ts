/** Names of the perf.data format: include/uapi/linux/perf_event.h and tools/perf/Documentation/perf.data-file-format.txt. */

/** Record types of the kernel, then (from 64) those that only perf writes. */
export const RECORD = {
  MMAP: 1,
  LOST: 2,
  COMM: 3,
  EXIT: 4,
  THROTTLE: 5,
  UNTHROTTLE: 6,
  FORK: 7,
  SAMPLE: 9,
  MMAP2: 10,
  LOST_SAMPLES: 13,
  HEADER_ATTR: 64,
  TRACING_DATA: 66,
  AUXTRACE: 71,
  EVENT_UPDATE: 78,
  FEATURE: 80,
  COMPRESSED: 81,
  COMPRESSED2: 83,
} as const;

/** Bits of sample_type: which fields a sample has. */
export const SAMPLE = {
  IP: 1 << 0,
  TID: 1 << 1,
  TIME: 1 << 2,
  ADDR: 1 << 3,
  READ: 1 << 4,
  CALLCHAIN: 1 << 5,
  ID: 1 << 6,
  CPU: 1 << 7,
  PERIOD: 1 << 8,
  STREAM_ID: 1 << 9,
  RAW: 1 << 10,
  BRANCH_STACK: 1 << 11,
  REGS_USER: 1 << 12,
  STACK_USER: 1 << 13,
  WEIGHT: 1 << 14,
  DATA_SRC: 1 << 15,
  IDENTIFIER: 1 << 16,
  TRANSACTION: 1 << 17,
  REGS_INTR: 1 << 18,
  PHYS_ADDR: 1 << 19,
  AUX: 1 << 20,
  CGROUP: 1 << 21,
  DATA_PAGE_SIZE: 1 << 22,
  CODE_PAGE_SIZE: 1 << 23,
  WEIGHT_STRUCT: 1 << 24,
} as const;

/** Every bit above; a sample with another bit has fields that this reader does not know. */
export const KNOWN_SAMPLE_BITS = Object.values(SAMPLE).reduce((all, bit) => all | bit, 0);

/** Bits of read_format. */
export const READ_FORMAT = { TIME_ENABLED: 1, TIME_RUNNING: 2, ID: 4, GROUP: 8, LOST: 16 } as const;

/** Bits of branch_sample_type that change the layout of a branch stack. */
export const BRANCH = { HW_INDEX: 1 << 17, COUNTERS: 1 << 19 } as const;

/** Types of events. */
export const EVENT_TYPE = { HARDWARE: 0, SOFTWARE: 1, TRACEPOINT: 2, BREAKPOINT: 5 } as const;
/** Software events whose samples have an address or a use here. */
export const SOFTWARE = {
  CPU_CLOCK: 0,
  TASK_CLOCK: 1,
  PAGE_FAULTS: 2,
  PAGE_FAULTS_MIN: 5,
  PAGE_FAULTS_MAJ: 6,
} as const;

/** Bits of the flag word of an attribute, by position. */
export const ATTR_FLAG = { FREQ: 10, SAMPLE_ID_ALL: 18, USE_CLOCKID: 25 } as const;

/** Header features that are read here, by number. */
export const FEATURE = {
  HOSTNAME: 3,
  OSRELEASE: 4,
  VERSION: 5,
  ARCH: 6,
  CPUDESC: 8,
  CPUID: 9,
  CMDLINE: 11,
  EVENT_DESC: 12,
  NUMA: 14,
  PMU_MAPPINGS: 16,
  COMPRESSED: 27,
} as const;

/** Bits of a record's misc word. */
export const MISC = {
  CPUMODE_MASK: 7,
  KERNEL: 1,
  USER: 2,
  COMM_EXEC: 1 << 13,
  MMAP_BUILD_ID: 1 << 14,
  MMAP_DATA: 1 << 13,
} as const;
