/** Rows of the process stream, gathered into one batch. */
import type { Batch, ColumnData } from "../../columnar/batch.ts";
import { columnsOf } from "../../schema/columns.ts";
import type { ProcMemory, ProcStat } from "./proc-text.ts";
import { TICK_NS } from "./proc-text.ts";

/** The machine at one sample. */
export interface MachineSample {
  readonly psi_cpu_some_ns: bigint | null;
  readonly psi_memory_some_ns: bigint | null;
  readonly mem_available_bytes: bigint | null;
}

export interface ProcessSample {
  readonly timestamp_ns: bigint;
  readonly pid: number;
  readonly role: "target" | "tracer";
  readonly stat: ProcStat;
  readonly memory: ProcMemory;
  readonly pss_bytes: bigint | null;
  readonly read_bytes: bigint | null;
  readonly write_bytes: bigint | null;
  readonly machine: MachineSample;
}

type Row = Readonly<Record<string, unknown>>;

/** A sample under the names of the columns. */
function rowOf(sample: ProcessSample): Row {
  const { stat, memory, machine, ...own } = sample;
  return {
    ...own,
    ...memory,
    ...machine,
    minor_faults: stat.minor_faults,
    major_faults: stat.major_faults,
    threads: stat.threads,
    cpu_user_ns: stat.user_ticks * TICK_NS,
    cpu_system_ns: stat.system_ticks * TICK_NS,
  };
}

function numbers(rows: readonly Row[], name: string, wide: boolean): ColumnData {
  const data = wide ? new BigUint64Array(rows.length) : new Uint32Array(rows.length);
  const valid = new Uint8Array(rows.length);
  rows.forEach((row, i) => {
    const value = row[name];
    if (typeof value !== "bigint" && typeof value !== "number") return;
    valid[i] = 1;
    if (data instanceof BigUint64Array) data[i] = BigInt(value);
    else data[i] = Number(value);
  });
  return valid.includes(0) ? { data, valid } : { data };
}

/** The samples as one batch of the process table. */
export function processBatch(samples: readonly ProcessSample[]): Batch<"process"> {
  const columns: Record<string, ColumnData> = {};
  const rows = samples.map(rowOf);
  for (const column of columnsOf("process")) {
    if (column.name === "role") {
      columns.role = {
        codes: Uint32Array.from(samples, (s) => (s.role === "target" ? 0 : 1)),
        values: ["target", "tracer"],
      };
    } else {
      columns[column.name] = numbers(rows, column.name, column.type === "u64");
    }
  }
  return { table: "process", rows: samples.length, columns };
}
