/** What a cache tensor without a name is, by the node that writes rows into it: how it keeps them, and of which layer the weights before it are. */
import { COLUMNS, type KvLayout, ROWS } from "../../regions/kv-layout.ts";
import type { RawTensor } from "./decode-tensor.ts";

export interface CacheRole {
  /** Null where no weight of a layer makes what is written. */
  readonly layer: number | null;
  /** Null where the name of that weight does not tell. */
  readonly part: "k" | "v" | null;
  readonly layout: KvLayout;
  /** Of one token, and tokens that there is room for. */
  readonly elements: number;
  readonly cells: number;
}

const WEIGHT_OF_LAYER = /^blk\.(\d{1,6})\.(?:attn_([kv])(?:_norm)?\.)?/;
/** Tensors between a weight and what is written: a product, a bias, a norm, a rotation, and views of them. */
const MOST_STEPS = 64;

/** The first weight of a layer on the way back from a tensor, nearest first. */
function weightBefore(
  from: bigint,
  tensorAt: (pointer: bigint) => RawTensor | null,
): Pick<CacheRole, "layer" | "part"> | null {
  const way = [from];
  for (let i = 0; i < way.length && i < MOST_STEPS; i++) {
    const tensor = tensorAt(way[i] as bigint);
    if (tensor === null) continue;
    const [, layer, part] = WEIGHT_OF_LAYER.exec(tensor.name) ?? [];
    if (layer !== undefined) return { layer: Number(layer), part: part === "k" || part === "v" ? part : null };
    if (tensor.viewSrc !== 0n) way.push(tensor.viewSrc);
    way.push(...tensor.src);
  }
  return null;
}

/**
 * The role of the tensor into which a node sets rows; null where the shapes are none of a cache.
 * @param node views `owner` as rows of tokens, or as one element of each row (where values are kept transposed)
 */
export function cacheRole(
  node: RawTensor,
  owner: RawTensor,
  tensorAt: (pointer: bigint) => RawTensor | null,
): CacheRole | null {
  if (node.viewSrc === 0n) return null;
  const [row = 1, cells = 1, ...outer] = node.ne;
  const rows = outer.reduce((product, n) => product * n, 1);
  const isTransposed = row === 1 && rows > 1;
  const elements = isTransposed ? rows : row;
  if ((rows > 1 && !isTransposed) || elements * cells !== owner.ne.reduce((product, n) => product * n, 1)) return null;
  const [written] = node.src;
  const weight = written === undefined ? null : weightBefore(written, tensorAt);
  return { layer: null, part: null, ...weight, layout: isTransposed ? COLUMNS : ROWS, elements, cells };
}
