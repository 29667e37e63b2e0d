/** The weight types that can be written, each with a block layout that is fast to fill with random weights. */

export interface WeightType {
  /** The id stored with each tensor. */
  readonly tensorTypeId: number;
  /** `general.file_type` of llama.cpp. */
  readonly fileType: number;
  readonly blockElements: number;
  readonly blockBytes: number;
  /** Scale in front of every block; null where the values themselves are stored. */
  readonly scale: number | null;
}

/**
 * Scales keep the weights within about +-0.032 in every type: larger ones drive the logits of a random model to infinity.
 * q8_0 stores a scale and 32 signed bytes, q4_0 a scale and 32 nibbles of which 8 is zero (ggml-common.h).
 */
export const WEIGHT_TYPES = {
  f16: { tensorTypeId: 1, fileType: 1, blockElements: 1, blockBytes: 2, scale: null },
  q8_0: { tensorTypeId: 8, fileType: 7, blockElements: 32, blockBytes: 34, scale: 0.00025 },
  q4_0: { tensorTypeId: 2, fileType: 2, blockElements: 32, blockBytes: 18, scale: 0.004 },
} as const satisfies Record<string, WeightType>;

export type ModelType = keyof typeof WEIGHT_TYPES;
export const MODEL_TYPES = Object.keys(WEIGHT_TYPES) as readonly ModelType[];
/** Stored type of the norms. */
export const F32_TYPE_ID = 0;
