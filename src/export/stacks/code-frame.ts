/** The frame of an instruction by the object that holds it and its function there. */
import { basename } from "node:path";
import type { CodeName } from "../../label/trace/code-places.ts";
import type { Frame } from "./stack.ts";

export const KERNEL: Frame = { function: "[kernel]", file: "", line: null };

/** Without a name, that of the object in brackets. */
export function codeFrame({ dso, symbol }: CodeName): Frame {
  const name = symbol !== "" ? symbol : dso !== "" ? `[${basename(dso)}]` : "[unknown]";
  return { function: name, file: dso, line: null };
}
