/** How it is told that memory is not there any more which tensors had. */
import { nullsOf } from "../../schema/row.ts";
import type { EngineRow } from "../engine.ts";
import type { Storage } from "./cache-tensor.ts";

type Free = EngineRow<"tensor">;

/** @param from when it was last known to be there, and by what it was told of */
export function goneRow(
  { addr, size_bytes }: Pick<Storage, "addr" | "size_bytes">,
  from: Pick<Free, "timestamp_ns" | "pid" | "tid" | "evidence">,
): Free {
  const { engine: _, ...nothing } = nullsOf("tensor");
  const buffer = { buffer: addr, buffer_addr: addr, buffer_size_bytes: size_bytes };
  return { ...nothing, ...from, kind: "free", addr, size_bytes, ...buffer };
}
