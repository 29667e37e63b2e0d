/** What a model is and which engine ran it, as their files and the engine itself say: for metadata.json and the report. */
import { z } from "zod";

const word = z.string().nullable();
const whole = z.int().min(0).nullable();

/** The model by the header of its file; null is what the header does not say. */
export const modelFactsSchema = z.object({
  name: word,
  architecture: word,
  /** Elements of all tensors. */
  parameters: whole,
  /** The type that most bytes of the tensors have, and those bytes by type. */
  quantisation: word,
  bytes_by_type: z.record(z.string(), z.int().min(0)).readonly(),
  file_bytes: whole,
  layers: whole,
  heads: whole,
  kv_heads: whole,
  embedding: whole,
  feed_forward: whole,
  vocabulary: whole,
  experts: whole,
  experts_used: whole,
  /** The longest context that it was trained for, in tokens. */
  context_tokens: whole,
  /** How many tokens back some layers look, and these; missing where none do, and where it is not certain. */
  window_tokens: z.int().min(1).optional(),
  window_layers: z.array(z.int().min(0)).readonly().optional(),
  /** Some layers may look back over a window, of which no more is certain; missing where they do not, and where it is known which do. */
  has_other_windows: z.boolean().optional(),
});
export type ModelFacts = z.output<typeof modelFactsSchema>;

/** An engine by its libraries and by what a program asked of it. */
export const engineFactsSchema = z.looseObject({
  name: z.string(),
  /** The version that its library is known to be, and the build id of that library; null where neither is known, and where there are several. */
  build: word.optional(),
  build_id: word.optional(),
  /** Every build that took batches; missing where there is one. */
  builds: z
    .array(z.object({ build: word, build_id: word }))
    .readonly()
    .optional(),
  /** What the context that decoded was asked to be, in the engine's own names; of several processes what is alike. */
  context: z.record(z.string(), z.unknown()).nullable().optional(),
  /**
   * By layer, how many of so many tokens read each expert of a mixture; missing for other models, and where none were seen. Bytes
   * of the matrices of one expert, those that these tokens read of each, and tokens of which the experts were not copied: missing in older files.
   */
  experts: z
    .array(
      z.object({
        layer: z.number(),
        tokens: z.number(),
        reads: z.array(z.number()).readonly(),
        expert_bytes: z.number().nullable().optional(),
        read_bytes: z.array(z.number()).readonly().nullable().optional(),
        untold_tokens: z.number().optional(),
      }),
    )
    .readonly()
    .optional(),
  /** What forward passes allocated while they computed, of those that were looked at; missing where the allocator was not probed. */
  activations: z
    .object({
      passes: z.number(),
      allocations_per_pass: z.number(),
      bytes_per_pass: z.number(),
      /** The most that one of them held of its own at one moment. */
      most_bytes: z.number(),
      /** So many bytes of a hundred were kept no longer, by quarters of a doubling; null where more were still held when the look ended. */
      kept_p50_ns: z.number().nullable(),
      kept_p90_ns: z.number().nullable(),
      kept_p99_ns: z.number().nullable(),
    })
    .optional(),
  /** What tokens took by the places between which the engine itself counts its rate; missing where these are not probed. */
  engine_time: z.object({ tokens: z.number(), time_ns: z.number(), tokens_per_s: z.number() }).optional(),
});
export type EngineFacts = z.output<typeof engineFactsSchema>;
