/** Keys of the Python package's experiment file that mean nothing here: each is read, and warns with its reason. */
import { z } from "zod";

/** What a schema says of a key that is read and does nothing. */
export interface Meaningless {
  readonly why: string;
  /** Values that say what is done anyway: they do not warn. */
  readonly same: readonly unknown[];
}

export const MEANINGLESS = z.registry<Meaningless>();

/** A key of any value that does nothing. */
function meaningless(why: string, ...same: readonly unknown[]) {
  return z.unknown().optional().register(MEANINGLESS, { why, same });
}

const PERF = "it is of perf mem; runs are traced by eBPF";
const MEMRAY = "it is of memray; runs are traced by eBPF";
const ALWAYS = "always recorded";
const METRICS = "every metric is always computed, for every class, with its interval";

export const collectorSchema = z.strictObject({
  primary: z
    .enum(["ebpf", "perf_mem", "memray", "process_monitor"])
    .optional()
    .register(MEANINGLESS, {
      why: "runs are traced by eBPF, which needs no PMU, or by what run.collector names",
      same: ["ebpf"],
    }),
  fallback: meaningless("there is no silent fallback: what the machine cannot do is told", null),
  fallback_2: meaningless("there is no silent fallback: what the machine cannot do is told", null),
  perf_mem: z
    .strictObject({
      sample_period: meaningless(PERF),
      ldlat_threshold: meaningless(PERF),
      events: meaningless(PERF),
      extra_flags: meaningless(PERF),
      require_root: meaningless(PERF),
    })
    .optional(),
  memray: z
    .strictObject({
      native_traces: meaningless(MEMRAY),
      follow_fork: meaningless(MEMRAY),
      file_size_limit_gb: meaningless("use run.max_size"),
    })
    .optional(),
  process_monitor: z
    .strictObject({
      poll_interval_ms: meaningless("processes are sampled at a rate of our own"),
      metrics: meaningless("RSS split, PSS, CPU, PSI, threads and I/O are always recorded"),
    })
    .optional(),
});

export const telemetrySchema = z.strictObject({
  capture: meaningless(ALWAYS, true),
  thermal_sampling_interval_s: meaningless("throttle counters and temperature are read around each run"),
  thermal_source: meaningless("found by itself", "auto"),
  invalidate_on_throttle: meaningless("throttling always lowers the validity class", true),
  software_versions: meaningless(ALWAYS, true),
  hardware_topology: meaningless(ALWAYS, true),
  run_fio_benchmark: meaningless("no benchmark of the disk is run", false),
});

export const labellerSchema = z.strictObject({
  rules_file: meaningless("labels come from the engine's tensors and mappings, not from rules on symbols"),
  unknown_policy: meaningless("what is not known stays, as `unknown`, and its share is reported"),
  min_sample_count: meaningless("a figure of too few samples is printed as insufficient"),
});

export const analyserSchema = z.strictObject({
  metrics: meaningless(METRICS),
  histogram_bins: meaningless("no histograms are written"),
  cdf_resolution: meaningless("quantiles come with intervals, not from a grid"),
  group_by: meaningless(METRICS),
});

const formatsSchema = z.strictObject({
  raw_traces: meaningless("traces are Parquet", "parquet"),
  metrics: meaningless("metrics are CSV and Parquet", "csv", "parquet"),
  figures: meaningless("no figures are drawn"),
  metadata: meaningless("metadata are JSON", "json"),
});

export const outputSchema = z.strictObject({
  base_dir: z.string().min(1).optional().describe("folder for run directories; the same as run.output"),
  formats: formatsSchema.optional(),
  compression: meaningless("Parquet is written with zstd", "zstd"),
  hf_dataset_push: meaningless("nothing is sent anywhere", false),
  hf_repo: meaningless("nothing is sent anywhere", null),
});
