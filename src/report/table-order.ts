/** The order of the class table: which metrics stand below which heading, by which short name. */

type Sections = readonly (readonly [heading: string, rows: readonly (readonly [metric: string, label: string])[]])[];

const FAULT_ROWS = [
  ["faults", "all"],
  ["first_touches", "first touches"],
  ["file_first_touches", "of files"],
  ["major_faults", "major"],
  ["kernel_faults", "in the kernel"],
  ["faults_per_s", "per second"],
  ["faults_per_token", "per token"],
] as const;

/** What is told of the target as a whole. */
export const PROCESS_SECTIONS: Sections = [
  [
    "memory in use",
    [
      ["rss_peak_bytes", "peak"],
      ["rss_anon_most_bytes", "anonymous"],
      ["rss_file_most_bytes", "of files"],
      ["rss_shmem_most_bytes", "shared"],
      ["pss_most_bytes", "proportional"],
    ],
  ],
  [
    "CPU",
    [
      ["cpu_ns", "time"],
      ["cpus_busy", "CPUs busy"],
      ["cpu_per_token_ns", "per token"],
    ],
  ],
  ["page faults", FAULT_ROWS],
];

/** Headings, and below each the metrics with their short names; metrics that stand nowhere here come last. */
export const SECTIONS: Sections = [
  ["mapped or allocated at one moment", [["allocated_bytes", "most"]]],
  [
    "allocated in all",
    [
      ["allocated_total_bytes", "bytes"],
      ["allocations_total", "allocations"],
    ],
  ],
  [
    "until a region is unmapped",
    [
      ["lifetime_p50_ns", "p50"],
      ["lifetime_p90_ns", "p90"],
      ["lifetime_p99_ns", "p99"],
    ],
  ],
  [
    "per byte and token",
    [
      ["reads_per_byte_per_token", "reads"],
      ["writes_per_byte_per_token", "writes"],
    ],
  ],
  [
    "bandwidth",
    [
      ["read_bytes_per_s", "read"],
      ["write_bytes_per_s", "written"],
      ["loads_per_s", "loads"],
      ["stores_per_s", "stores"],
    ],
  ],
  ["hits in one pass", [["hits_per_pass", "mean"]]],
  [
    "between accesses",
    [
      ["iai_mean_ns", "mean"],
      ["iai_p50_ns", "p50"],
      ["iai_p90_ns", "p90"],
      ["iai_p99_ns", "p99"],
    ],
  ],
  [
    "reuse time",
    [
      ["reuse_time_mean_ns", "mean"],
      ["reuse_time_p50_ns", "p50"],
      ["reuse_time_p90_ns", "p90"],
      ["reuse_time_p99_ns", "p99"],
    ],
  ],
  [
    "writes",
    [
      ["reads_per_write", "reads/write"],
      ["loads_per_store", "loads/store"],
      ["needs_per_write", "needed/write"],
      ["write_once_ratio", "once"],
    ],
  ],
  [
    "age at read",
    [
      ["age_at_read_p50_ns", "p50"],
      ["age_at_read_p99_ns", "p99"],
    ],
  ],
  [
    "retention",
    [
      ["retention_p50_ns", "p50"],
      ["retention_p90_ns", "p90"],
      ["retention_p99_ns", "p99"],
    ],
  ],
  [
    "until a byte's next use",
    [
      ["next_use_p50_ns", "p50"],
      ["next_use_p90_ns", "p90"],
    ],
  ],
  [
    "a byte is still needed",
    [
      ["still_needed_p50_ns", "p50"],
      ["still_needed_p90_ns", "p90"],
    ],
  ],
  [
    "working set",
    [
      ["working_set_bytes", "touched"],
      ["same_page_fraction", "same page"],
      ["median_stride_bytes", "stride p50"],
    ],
  ],
  ["page faults, whole run", FAULT_ROWS],
  ["managed retention", [["suitability", "suitability"]]],
];

const NAMES = new Map([
  // It stands above the sections.
  ["resident_bytes", "in memory"],
  ...[...PROCESS_SECTIONS, ...SECTIONS].flatMap(([heading, rows]) =>
    rows.map(
      ([metric, label]) => [metric, label === heading ? label : `${heading.replace(/, .*$/, "")}: ${label}`] as const,
    ),
  ),
] as const);

/** What a table that stands by itself calls a metric: heading and short name of the class table; the metric where that has none. */
export function nameOfMetric(metric: string): string {
  return NAMES.get(metric) ?? metric;
}
