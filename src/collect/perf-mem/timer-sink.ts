/** Timer samples of perf become accesses, by decoding the running process's own code. */

import type { CodeMap } from "../../code/code-bytes.ts";
import { effectiveAddress } from "../../code/effective-address.ts";
import { createOperandFinder } from "../../code/operand-finder.ts";
import { PLACE, registerFile } from "../../code/register-file.ts";
import { wordsOf } from "../../schema/row.ts";
import type { TimerSink } from "./file/sample-reader.ts";
import { readRegisters } from "./interrupt-registers.ts";

const OPS = wordsOf("access", "op_type");

export function createTimerSink(code: Pick<CodeMap, "locate">): TimerSink {
  // perf hands samples over late: memory may hold other code by then, and only files are asked.
  const operands = createOperandFinder(code, null);
  const registers = registerFile();
  const address = new Uint32Array(2);
  return (pid, ip, words, mask) => {
    const operand = operands.find(pid, Number(ip));
    if (operand === null || typeof operand === "string") return null;
    readRegisters(words, mask, registers);
    registers.words[2 * PLACE.rip] = Number(ip & 0xffffffffn);
    registers.words[2 * PLACE.rip + 1] = Number(ip >> 32n);
    registers.known |= 1 << PLACE.rip;
    if (!effectiveAddress(operand, registers, address)) return null;
    const op = OPS[operand.op];
    return op === undefined ? null : { address: (BigInt(address[1] ?? 0) << 32n) | BigInt(address[0] ?? 0), op };
  };
}
