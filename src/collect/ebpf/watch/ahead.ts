/** The cache rows that the next tokens will write: drawn before their first write, so that it is seen. */
import type { KvHead, LiveTensor } from "../../../engine/engine.ts";
import { AHEAD_TOKENS } from "./design.ts";
import type { DrawRegion } from "./draw.ts";
import { stratumOf } from "./stratum.ts";

/**
 * Rows 1 to 8 after the next one, of every cache tensor that keeps a token's bytes in one row after another.
 * @param heads where the next row goes; a cache of several sequences has no single next row and gives none
 */
export function rowsAhead(heads: readonly KvHead[], tensors: readonly LiveTensor[]): DrawRegion[] {
  const out: DrawRegion[] = [];
  for (const head of heads) {
    if (head.sequences > 1) continue;
    for (const tensor of tensors) {
      if (tensor.pid !== head.pid || tensor.engine !== head.engine || tensor.kv_layout?.form !== "rows") continue;
      const stratum = stratumOf({ ...tensor, mapping_kind: null });
      const rows = tensor.ne[1] ?? 0;
      const rowBytes = tensor.nb[1] ?? 0;
      const first = head.next_row + 1;
      const count = Math.min(AHEAD_TOKENS, rows - first);
      if (stratum === null || count <= 0 || rowBytes <= 0 || (first + count) * rowBytes > tensor.size_bytes) continue;
      const addr = tensor.addr + BigInt(first) * BigInt(rowBytes);
      const { pid, region_type, name } = tensor;
      out.push({ pid, addr, size_bytes: count * rowBytes, stratum, region_type, tensor: name });
    }
  }
  return out;
}
