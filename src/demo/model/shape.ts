/** The models that can be written: Llama shapes from a toy to 1.1 billion parameters. */

export interface Shape {
  readonly layers: number;
  readonly embedding: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly vocabulary: number;
  /** Tokens of context that the file claims the model was trained on. */
  readonly context: number;
  /** The table of embeddings is the output matrix too; it has one of its own unless told. */
  readonly tied?: boolean;
}

/** Nominal sizes: the embedding and output matrices of a 32,000-word vocabulary come on top of `15m` and `110m`. */
export const SHAPES = {
  "1m": { layers: 2, embedding: 128, feedForward: 256, heads: 4, kvHeads: 2, vocabulary: 512, context: 512 },
  "15m": { layers: 6, embedding: 288, feedForward: 768, heads: 6, kvHeads: 6, vocabulary: 32000, context: 2048 },
  "110m": { layers: 12, embedding: 768, feedForward: 2048, heads: 12, kvHeads: 12, vocabulary: 32000, context: 2048 },
  "1.1b": { layers: 22, embedding: 2048, feedForward: 5632, heads: 32, kvHeads: 4, vocabulary: 32000, context: 2048 },
} as const satisfies Record<string, Shape>;

export type ModelParams = keyof typeof SHAPES;
export const MODEL_PARAMS = Object.keys(SHAPES) as readonly ModelParams[];

/** The shape of a nominal size, with what is said to be apart from it. */
export function shapeOf({ params, apart }: { readonly params: ModelParams; readonly apart?: Partial<Shape> }): Shape {
  return { ...SHAPES[params], ...apart };
}

/** A tensor of the model: a matrix of weights, or a vector of ones that scales a norm. */
export interface TensorPlan {
  readonly name: string;
  /** Elements per dimension, fastest first. */
  readonly shape: readonly number[];
  readonly role: "matrix" | "norm";
}

/** Every tensor that llama.cpp wants of a Llama model, in file order. */
export function tensorPlans(shape: Shape): TensorPlan[] {
  const { embedding, feedForward, vocabulary } = shape;
  const kv = (embedding / shape.heads) * shape.kvHeads;
  const plans: TensorPlan[] = [];
  const matrix = (name: string, inputs: number, outputs: number) =>
    plans.push({ name: `${name}.weight`, shape: [inputs, outputs], role: "matrix" });
  const norm = (name: string) => plans.push({ name: `${name}.weight`, shape: [embedding], role: "norm" });
  matrix("token_embd", embedding, vocabulary);
  for (let layer = 0; layer < shape.layers; layer += 1) {
    const block = `blk.${layer}`;
    norm(`${block}.attn_norm`);
    matrix(`${block}.attn_q`, embedding, embedding);
    matrix(`${block}.attn_k`, embedding, kv);
    matrix(`${block}.attn_v`, embedding, kv);
    matrix(`${block}.attn_output`, embedding, embedding);
    norm(`${block}.ffn_norm`);
    matrix(`${block}.ffn_gate`, embedding, feedForward);
    matrix(`${block}.ffn_up`, embedding, feedForward);
    matrix(`${block}.ffn_down`, feedForward, embedding);
  }
  norm("output_norm");
  if (shape.tied !== true) matrix("output", embedding, vocabulary);
  return plans;
}

/** Elements of all tensors together. */
export function parameterCount(shape: Shape): number {
  return tensorPlans(shape).reduce((sum, plan) => sum + plan.shape.reduce((product, n) => product * n, 1), 0);
}
