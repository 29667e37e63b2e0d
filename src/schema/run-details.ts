/** What a recording knew beside its streams and figures: the details of facts.json, which metadata.json repeats. */
import { z } from "zod";
import { modelFactsSchema } from "./model-facts.ts";

const text = z.string().nullable();
const anything = z.record(z.string(), z.unknown());

/** The machine, as far as it is looked at again; the other facts of it are kept as they are. */
const hostSchema = z.looseObject({
  machine_id: text,
  os: text,
  kernel: text,
  cpu_model: text,
  cpus: z.number().nullish(),
  cpu_freq_scaling_max_mhz: z.number().nullable(),
  virtualisation: text.optional(),
  transparent_hugepage: text.optional(),
});

/** What an experiment says of one of its runs. */
export const experimentFactsSchema = z.object({
  name: z.string(),
  /** Description, version and the like, and the model's entry, as the file has them. */
  about: anything,
  model: anything,
  context_length: z.int(),
  batch_size: z.int(),
  output_tokens: z.int(),
  prompt_tokens: z.int(),
  prompts: z.int(),
  rep_index: z.int(),
  is_warmup: z.boolean(),
});
export type ExperimentFacts = z.output<typeof experimentFactsSchema>;

/** A labelled trace that another program recorded. */
const importedSchema = z.object({
  /** Path of the trace below the run directory. */
  file: z.literal("raw/trace.parquet"),
  /** Accesses that each row stands for; null where nobody knows. */
  period: z.int().min(1).nullable(),
  /** Where it came from. */
  from: z.string(),
});
export type Imported = z.output<typeof importedSchema>;

const timeSchema = z.codec(z.string().regex(/^\d{1,20}$/), z.bigint(), {
  decode: (digits) => BigInt(digits),
  encode: (value) => value.toString(),
});
/** Which budget held from when on; CLOCK_MONOTONIC. */
const turnsSchema = z.array(z.object({ begin_ns: timeSchema, budget_pct: z.number().positive() })).readonly();

/**
 * Stretches without a poll, in order of time, CLOCK_MONOTONIC: no watch could be armed or ended. Of those that came after so many that
 * no more are kept there is their number and time.
 */
const lateSchema = z.object({
  stretches: z.array(z.object({ begin_ns: timeSchema, end_ns: timeSchema })).readonly(),
  left_out: z.int().nonnegative(),
  left_out_ns: z.number().nonnegative(),
});
export type LatePolls = z.output<typeof lateSchema>;

/** The keys that we read again; each collector adds its own beside them. */
export const runDetailsSchema = z.looseObject({
  /** Missing where the tracer was killed before it could say, and where another program recorded. */
  host: hostSchema.optional(),
  options: anything.optional(),
  /** Words of the command line that repeats the run; none where nothing is kept of command lines, missing in older files. */
  repeated_by: z.array(z.string()).optional(),
  experiment: experimentFactsSchema.nullable().optional(),
  /** By the header of its file; null where none was found, missing in older files. */
  model: modelFactsSchema.nullable().optional(),
  thermal: z.looseObject({ throttle_events: z.number().nullable(), peak_temp_c: z.number().nullable() }).optional(),
  /** What watching told of its budget. */
  watch: z
    .looseObject({
      budget: z.looseObject({ turns: turnsSchema.nullish() }).optional(),
      draw_lag_ns: z.number().nonnegative().optional(),
      /** Missing in older files. */
      late: lateSchema.optional(),
    })
    .nullish(),
  /** What sampling told of its events; of what another tool recorded, how many samples there are. */
  samples: z
    .union([
      z.looseObject({ events: z.array(z.looseObject({ name: z.string(), precise: z.number() })).optional() }),
      z.number(),
    ])
    .nullish(),
  imported: importedSchema.optional(),
  /** Name of the file of another tool from which the streams were read. */
  imported_from: z.string().optional(),
});
export type RunDetails = z.output<typeof runDetailsSchema>;
