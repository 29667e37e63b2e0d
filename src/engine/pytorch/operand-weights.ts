/**
 * Weights by what operators are given as such: a matrix at one address, once in a pass, in pass after pass. What is made anew
 * for each use lies where something else lay in the same pass, or is gone with the next.
 */
import { nullsOf } from "../../schema/row.ts";
import type { EngineRow, LiveTensor, NameAt, Outcome } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { ENGINE_NAME } from "./probes.ts";
import type { Matrix } from "./tensor-impl.ts";

export interface OperandWeights {
  /**
   * An operator was given a matrix; what became of that.
   * @param pass names the forward pass among all of the process
   * @param isTable whether rows of it were looked up
   */
  note(matrix: Matrix, pass: number, isTable: boolean, when: When): Outcome;
  /** True while nothing new was given for some time. */
  isSettled(): boolean;
  takeRows(): EngineRow<"tensor">[];
  live(): LiveTensor[];
}

interface Operand {
  readonly matrix: Matrix;
  /** Its addresses as numbers, which are exact below 2^53: each new one is held against all others. */
  readonly begin: number;
  readonly end: number;
  readonly isTable: boolean;
  readonly first_ns: bigint;
  /** The last pass in which it was multiplied with, and in which it was looked up in. */
  readonly lastPass: { linear: number; table: number };
  passes: number;
  /** `refused`: it is not there for longer than its use, or a file tells of it. */
  role: "seen" | "told" | "refused";
}
type When = Pick<RawRecord, "timestamp_ns" | "tid">;

/** Passes in which it must be seen, and for how long, in ns: a file that is mapped has told its names by then. */
const PASSES = 3;
const SEEN_NS = 500_000_000n;
/** Passes without anything new until all is settled. */
const QUIET_PASSES = 16;
/** A program that makes its weights anew for each use would fill our memory. */
const OPERANDS = 8192;

/** True for a table of embeddings that is multiplied with too: the output matrix is tied to it. */
const isTied = ({ linear, table }: Operand["lastPass"]): boolean => Math.min(linear, table) >= 0;

/** None seen yet. @param nameAt what a mapped file says of an address */
export function operandWeights(pid: number, nameAt: NameAt): OperandWeights {
  const operands = new Map<string, Operand>();
  let newestPass = 0;
  /** The last pass in which something was seen that is not decided yet. */
  let undecidedPass = Number.NEGATIVE_INFINITY;
  let rows: EngineRow<"tensor">[] = [];

  function addRow(
    { addr, bytes, type, width, rows: n_rows }: Matrix,
    when: When,
    kind: "graph" | "tied" | "free",
  ): void {
    const { engine: _, ...nothing } = nullsOf("tensor");
    const place = { addr, size_bytes: bytes, buffer: addr, buffer_addr: addr, buffer_size_bytes: bytes };
    const row = { ...nothing, timestamp_ns: when.timestamp_ns, pid, tid: when.tid, kind, ...place } as const;
    const facts = { tensor_type: type, shape: `${width}x${n_rows}`, region_type: "weight", usage: "weights" } as const;
    rows.push({ ...row, ...(kind === "free" ? {} : facts), evidence: "operand" });
  }

  function refuse(operand: Operand, when: When): void {
    if (operand.role === "told") addRow(operand.matrix, when, "free");
    operand.role = "refused";
  }

  /** Who lies where another one lies is no weight, nor is the other. */
  function create(key: string, matrix: Matrix, isTable: boolean, when: When): Operand {
    const never = Number.NEGATIVE_INFINITY;
    const lastPass = { linear: never, table: never };
    const [begin, end] = [Number(matrix.addr), Number(matrix.addr + matrix.bytes)];
    const first = { first_ns: when.timestamp_ns, lastPass, passes: 0 };
    const operand: Operand = { matrix, begin, end, isTable, ...first, role: "seen" };
    for (const other of operands.values()) {
      if (other.begin >= end || begin >= other.end) continue;
      refuse(other, when);
      operand.role = "refused";
    }
    operands.set(key, operand);
    return operand;
  }

  return {
    note(matrix, pass, isTable, when) {
      newestPass = Math.max(newestPass, pass);
      if (!matrix.isInMemory) return "not_in_memory";
      const key = `${matrix.addr}/${matrix.bytes}/${matrix.type}`;
      const existing = operands.get(key);
      if (!matrix.isDense || (existing === undefined && operands.size >= OPERANDS)) return "kept";
      const operand = existing ?? create(key, matrix, isTable, when);
      const use = isTable ? "table" : "linear";
      if (!isTable && operand.lastPass.linear === pass) refuse(operand, when);
      if (Math.max(operand.lastPass.linear, operand.lastPass.table) < pass) operand.passes += 1;
      operand.lastPass[use] = pass;
      if (operand.role !== "seen") return "duplicate";
      undecidedPass = Math.max(undecidedPass, pass);
      if (operand.passes < PASSES || when.timestamp_ns - operand.first_ns < SEEN_NS) return "kept";
      operand.role = nameAt(pid, matrix.addr) === null ? "told" : "refused";
      if (operand.role === "told") addRow(matrix, when, "graph");
      // What a file names has its row, which says nothing of a second use.
      else if (isTied(operand.lastPass)) addRow(matrix, when, "tied");
      return "kept";
    },
    isSettled: () => operands.size >= OPERANDS || newestPass - undecidedPass >= QUIET_PASSES,
    takeRows() {
      const taken = rows;
      rows = [];
      return taken;
    },
    live: () =>
      [...operands.values()]
        .filter(({ role }) => role === "told")
        .map(({ matrix, isTable, lastPass }) => ({
          engine: ENGINE_NAME,
          pid,
          name: null,
          tensor_type: matrix.type,
          addr: matrix.addr,
          size_bytes: Number(matrix.bytes),
          ne: [Number(matrix.width), Number(matrix.rows)],
          nb: [],
          region_type: "weight",
          layer: null,
          logical_id: null,
          kv_layout: null,
          // Of a table few rows are read, unless the output is computed with it too.
          drawn: !isTable || isTied(lastPass),
          is_alone: true,
        })),
  };
}
