/** Rows of the kernel program's ring become access rows in place: no object and no 64-bit value is made for one. */

import { effectiveAddress } from "../../../code/effective-address.ts";
import type { OperandFinder } from "../../../code/operand-finder.ts";
import type { BlockRows } from "../../../columnar/blocks.ts";
import { codesOf } from "../../../schema/row.ts";
import type { AccessColumns } from "../../access-columns.ts";
import { AT, ipOf, KERNEL_HIGH_WORD, readRegisters, tickRegisters, timeOf } from "./tick-registers.ts";

/** What became of the rows of the ring that gave no access. */
export interface TickLosses {
  /** The instruction accesses no memory. */
  noAccess: number;
  /** Its code could not be read, or belongs to a program that was replaced since. */
  noCode: number;
  /** It could be read, and its address does not follow from the registers. */
  noAddress: number;
}

export interface TickReader {
  /** Appends the accesses of the rows; `full` is called when the columns are. */
  read(rows: BlockRows, into: AccessColumns, full: () => void): void;
  readonly losses: Readonly<TickLosses>;
}

/** When the program of a process began, in ns; undefined where it is the first. */
export type ProgramBegan = (pid: number) => number | undefined;

const CLOCK = codesOf("access", "source").clock;
const DECODED = codesOf("access", "op_evidence").decoded;

export function createTickReader(operands: OperandFinder, began: ProgramBegan): TickReader {
  const registers = tickRegisters();
  const address = new Uint32Array(2);
  const losses: TickLosses = { noAccess: 0, noCode: 0, noAddress: 0 };

  /** Code of op_type of the access, whose address is in `address`; -1 for none. */
  function accessOf(words: Uint32Array, base: number, row: number): number {
    const pid = words[base + AT.pid + row] as number;
    const since = began(pid);
    const isOfOther = since !== undefined && timeOf(words, base, row) < since;
    const operand = isOfOther ? null : operands.find(pid, ipOf(words, base, row));
    if (operand === null) losses.noCode += 1;
    else if (operand === "none") losses.noAccess += 1;
    else {
      readRegisters(registers, words, base, row);
      const hasAddress = operand !== "unknown" && effectiveAddress(operand, registers, address);
      if (operand !== "unknown" && hasAddress && (address[1] as number) < KERNEL_HIGH_WORD) return operand.op;
      losses.noAddress += 1;
    }
    return -1;
  }

  function append(words: Uint32Array, base: number, row: number, cpu: number, op: number, into: AccessColumns): void {
    const outRow = into.rows;
    const word = base + 2 * row;
    for (let half = 0; half < 2; half++) {
      into.words.timestamp_ns[2 * outRow + half] = words[word + AT.time + half] as number;
      into.words.ip[2 * outRow + half] = words[word + AT.ip + half] as number;
      into.words.period[2 * outRow + half] = words[word + AT.period + half] as number;
      into.words.address[2 * outRow + half] = address[half] as number;
    }
    into.data.pid[outRow] = words[base + AT.pid + row] as number;
    into.data.tid[outRow] = words[base + AT.tid + row] as number;
    into.data.cpu[outRow] = cpu;
    into.data.op_type[outRow] = op;
    into.data.source[outRow] = CLOCK;
    into.data.op_evidence[outRow] = DECODED;
    into.rows = outRow + 1;
  }

  return {
    losses,
    read({ bytes, pieces, begin_bytes, cpu, from, to: end }, into, full) {
      const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
      for (let piece = 0; piece < pieces; piece++) {
        const base = (begin_bytes[piece] as number) / 4;
        for (let row = from[piece] as number; row < (end[piece] as number); row++) {
          const op = accessOf(words, base, row);
          if (op < 0) continue;
          append(words, base, row, cpu[piece] as number, op, into);
          if (into.rows === into.capacity) full();
        }
      }
    },
  };
}
