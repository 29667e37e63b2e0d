/** What an operand of an instruction does to memory, in the words of the access stream. */
import { OpAccess } from "iced-x86";
import type { AccessOp } from "../schema/words.ts";

/** The word for the decoder's answer; `unknown` for what touches no memory, such as lea and prefetches. */
export function accessOp(access: OpAccess): AccessOp {
  switch (access) {
    case OpAccess.Read:
    case OpAccess.CondRead:
      return "load";
    case OpAccess.Write:
    case OpAccess.CondWrite:
      return "store";
    case OpAccess.ReadWrite:
    case OpAccess.ReadCondWrite:
      return "load_store";
    default:
      return "unknown";
  }
}
