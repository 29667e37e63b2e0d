/** The values of an SQL engine's vector without a copy. */
import type { DuckDBVector } from "@duckdb/node-api";
import { MrmTraceError } from "../errors.ts";

/** The words of a vector of 32-bit or 64-bit integers: 64-bit ones as pairs, low word first. @throws MrmTraceError failure for another layout */
export function vectorWords(vector: DuckDBVector): Uint32Array {
  const items: unknown = Reflect.get(vector, "items");
  if (items instanceof Uint32Array) return items;
  if (items instanceof BigUint64Array) return new Uint32Array(items.buffer, items.byteOffset, items.length * 2);
  throw new MrmTraceError(
    "failure",
    "the installed @duckdb/node-api keeps its vectors in another way",
    "install the version that package.json names: npm ci",
  );
}
