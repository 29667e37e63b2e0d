/** perf's breakpoints as rows of the watch stream: each saw every access to its bytes, from its first trap to its last. */
import { type Batch, isStringColumn } from "../../columnar/batch.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import type { RowOf } from "../../schema/row.ts";
import type { FileEvent } from "./file/event.ts";

interface Seen {
  first_ns: bigint;
  last_ns: bigint;
  pid: number;
  hits: number;
}

export interface Breakpoints {
  /** Looks at a batch before it is written. */
  look(batch: Batch): void;
  /** The breakpoints that had a trap; null where there is none. */
  watches(events: readonly FileEvent[]): Batch<"watch"> | null;
}

const BP_WRITE = 2;

export function createBreakpoints(): Breakpoints {
  const seen = new Map<number, Seen>();
  return {
    look({ table, rows, columns }) {
      const { watch_id, timestamp_ns, pid } = columns;
      if (table !== "access" || !watch_id || !timestamp_ns || !pid) return;
      if (isStringColumn(watch_id) || isStringColumn(timestamp_ns) || isStringColumn(pid)) return;
      // One look at the column tells of a batch without any, as most are.
      if (!watch_id.valid?.includes(1)) return;
      for (let row = 0; row < rows; row++) {
        const id = Number(watch_id.data[row]);
        if (id === 0) continue;
        const at_ns = BigInt(timestamp_ns.data[row] ?? 0);
        const one = seen.get(id);
        if (one === undefined) seen.set(id, { first_ns: at_ns, last_ns: at_ns, pid: Number(pid.data[row]), hits: 1 });
        else {
          one.hits += 1;
          if (at_ns < one.first_ns) one.first_ns = at_ns;
          if (at_ns > one.last_ns) one.last_ns = at_ns;
        }
      }
    },
    watches(events) {
      const named = events.filter(({ use }) => use === "breakpoint");
      const rows = [...seen].flatMap(([id, { first_ns, last_ns, pid, hits }]): RowOf<"watch">[] => {
        const attribute = named[id - 1]?.attribute;
        if (attribute === undefined) return [];
        return [
          {
            timestamp_ns: first_ns,
            end_ns: last_ns,
            watch_id: id,
            pid,
            addr: attribute.bp_addr,
            size_bytes: Number(attribute.bp_len & 0xffn),
            mode: attribute.bp_type === BP_WRITE ? "w" : "rw",
            design: "long",
            stratum: `breakpoint/${id}`,
            region_type: "unknown",
            tensor: null,
            stratum_bytes: attribute.bp_len,
            inclusion_probability: 1,
            draw_weight: 1,
            trap_limit: hits,
            dwell_limit_ns: last_ns - first_ns,
            n_hits: hits,
            n_foreign: 0,
            n_kernel: 0,
            ended_by: "end",
            n_registers: 1,
            n_accesses: null,
          },
        ];
      });
      return rows.length === 0 ? null : batchFromRows("watch", rows);
    },
  };
}
