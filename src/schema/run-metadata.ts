/** metadata.json: everything about a run that is not a figure of its data; who writes it and who reads it has it from here. */
import { z } from "zod";
import { engineFactsSchema, modelFactsSchema } from "./model-facts.ts";
import { runDetailsSchema } from "./run-details.ts";
import { count, figure, runJsonSchema, u64 } from "./run-json.ts";

const { shape } = runJsonSchema;
const { host, thermal, model: _, ...ofRecording } = runDetailsSchema.shape;
const metric = shape.metrics.unwrap().element.shape;
const text = z.string().nullable();
const anything = z.record(z.string(), z.unknown());

/** What was allocated at one place of the program by one function, in an aggregated capture of memray. */
const allocationSiteSchema = z.object({
  pid: count,
  allocator: z.string(),
  /** Null where the stack has no Python frame, or memray did not name it. */
  function: text,
  /** Source of the Python frame; the object of the innermost native frame where there is none of Python. */
  file: text,
  line: count.nullable(),
  /** Alive when the process had most bytes alive, and their bytes. */
  peak_allocations: z.number(),
  peak_bytes: z.number(),
  /** Alive at the end, and their bytes. */
  leaked_allocations: z.number(),
  leaked_bytes: z.number(),
});
export type AllocationSite = z.output<typeof allocationSiteSchema>;

const knownSchema = z.object({
  schema_version: z.string(),
  run_id: z.string(),
  /** Null where another tool recorded the run. */
  machine_id: text,
  /** Its name here, and what its file says; the facts are missing where no file was found, and in older files. */
  model: z.object({ id: z.string() }).extend(modelFactsSchema.partial().shape),
  collector: z.object({ type: text }),
  collectors: shape.collectors,
  generation: z.object({
    context_length: count.nullable(),
    batch_size: count.nullable(),
    output_tokens: count.nullable(),
    total_output_tokens: count.nullable(),
    prompt_tokens: count.nullable(),
    avg_tokens_per_second: figure,
    ttft_ms: figure,
    rep_index: count.nullable(),
  }),
  thermal: thermal.unwrap().extend({ run_validity: shape.validity }),
  timing: z.object({
    total_wall_duration_s: figure,
    /** The same moment in both clocks; null where nobody knows the wall time. */
    started_at_utc: text,
    /** ns of `clock`. */
    started_ns: u64,
    clock: z.literal("CLOCK_MONOTONIC"),
  }),
  hardware: host.unwrap().omit({ machine_id: true, os: true, kernel: true }),
  software: z.looseObject({ os: text, kernel: text, mrm_trace: z.string() }),
  /** The first of `engines`. */
  engine: engineFactsSchema.nullable(),
  /** Name, objects and settings of each engine that was recognised. */
  engines: z.array(anything).readonly(),
  target: shape.target,
  /** What the target used, by phase: the figures of the scope `process` that say something. */
  target_use: z
    .array(
      z.object({
        metric: metric.metric,
        phase: metric.phase,
        step: metric.step,
        source: metric.source,
        unit: metric.unit,
        value: figure,
        lo: figure,
        hi: figure,
      }),
    )
    .readonly(),
  validity: z.object({ class: shape.validity, reasons: shape.reasons, not_measured: shape.not_measured }),
  observer: shape.observer,
  loss: shape.loss,
  /** Sizes and rows of each class; missing in older files. */
  labels: shape.labels.optional(),
  /** What requests to a server took; missing in older files. */
  requests: shape.requests,
  /** What would sharpen the answer most; missing in older files. */
  more_time: shape.more_time.optional(),
  /** The headline figures by budget; missing in older files. */
  invariance: shape.invariance.optional(),
  warnings: shape.warnings,
  ...ofRecording,
  stopped_by: z.string(),
  end_ns: u64,
  seed: z.number(),
  trap_cost_ns: z.number().nullable(),
  /** The 20 that held most bytes, most first; null without such a capture and where a part of it is lost, missing in older files. */
  allocation_sites: z.array(allocationSiteSchema).readonly().nullable().optional(),
});

/** Keys beside these are those of the collectors. */
export const metadataSchema = knownSchema.extend({ ledger: shape.ledger }).loose();

/** What metadata.json says but for the ledger; u64 values are bigint. Keys beside the known ones are as they are in the file. */
export type RunMetadata = Readonly<z.output<typeof knownSchema>> & { readonly [key: string]: unknown };
