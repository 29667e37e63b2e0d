/** The sections of the Python package's experiment file: keys that are options here, and those that mean nothing and warn. */
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

const ALWAYS = "always recorded";
const METRICS = "every metric is always computed, for every class, with its interval";

export const collectorSchema = z.strictObject({
  primary: z
    .enum(["ebpf", "perf_mem", "memray", "process_monitor"])
    .optional()
    .describe("the same as run.collector, where perf_mem is perf-mem and process_monitor is process"),
  fallback: meaningless("there is no silent fallback: what the machine cannot do is told", null),
  fallback_2: meaningless("there is no silent fallback: what the machine cannot do is told", null),
  perf_mem: z
    .strictObject({
      sample_period: z.int().min(1).optional().describe("the same as period=N in run.perf"),
      ldlat_threshold: z.int().min(1).optional().describe("the same as ldlat=N in run.perf"),
      events: z
        .array(z.string().min(1))
        .min(1)
        .optional()
        .describe("the same as run.perf; memory events of the processor, such as cpu/mem-loads/P, are its mem"),
      extra_flags: meaningless("perf is given the words of run.perf and no others", []),
      require_root: meaningless("perf needs root wherever the kernel asks for it", true),
    })
    .optional(),
  memray: z
    .strictObject({
      native_traces: z.boolean().optional().describe("the same as native in run.memray"),
      follow_fork: z.boolean().optional().describe("the same as follow-fork in run.memray, which is there by default"),
      file_size_limit_gb: meaningless("use run.max_size"),
    })
    .optional(),
  process_monitor: z
    .strictObject({
      poll_interval_ms: meaningless("processes are sampled ten times a second", 100),
      metrics: meaningless("RSS split, PSS, CPU, PSI, threads and I/O are always recorded"),
    })
    .optional(),
});

export const telemetrySchema = z.strictObject({
  capture: meaningless(ALWAYS, true),
  thermal_sampling_interval_s: meaningless("temperature, throttling and frequency are read once a second", 1),
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
