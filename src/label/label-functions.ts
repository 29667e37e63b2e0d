/** The label lookups as SQL functions: each call gets a vector of rows, so that nothing is done per row but the search. */
import {
  type DuckDBDataChunk,
  DuckDBScalarFunction,
  type DuckDBType,
  type DuckDBVector,
  UBIGINT,
  UINTEGER,
} from "@duckdb/node-api";
import type { CodeName } from "./code-map.ts";
import type { Database } from "./database.ts";
import { type Slot, slotAt, type Timeline } from "./phase.ts";
import { type Place, placeIndex } from "./place-index.ts";
import { FUNCTIONS } from "./trace-sql.ts";
import { vectorWords } from "./vector-words.ts";

const WORD = 2 ** 32;

function register(
  database: Database,
  name: string,
  parameterTypes: readonly DuckDBType[],
  returnType: DuckDBType,
  fill: (input: readonly Uint32Array[], output: Uint32Array, rows: number) => void,
): void {
  database.connection.registerScalarFunction(
    DuckDBScalarFunction.create({
      name,
      parameterTypes,
      returnType,
      volatile: true,
      mainFunction(_info, input: DuckDBDataChunk, output: DuckDBVector) {
        const columns = parameterTypes.map((_, index) => vectorWords(input.getColumnVector(index)));
        fill(columns, vectorWords(output), input.rowCount);
        output.flush();
      },
    }),
  );
}

/** Slots of all processes in one list, number 0 for processes without an engine. */
export interface SlotList {
  readonly slots: readonly Slot[];
  /** Number of the first slot of a process. */
  readonly firstOf: ReadonlyMap<number, number>;
}

/** Numbers the slots of a timeline from 1. */
export function slotList(timeline: Timeline): SlotList {
  const slots: Slot[] = [];
  const firstOf = new Map<number, number>();
  for (const [pid, own] of timeline) {
    firstOf.set(pid, slots.length + 1);
    for (const slot of own) slots.push(slot);
  }
  return { slots, firstOf };
}

export interface LabelFunctions {
  /** The number that the next row gets. */
  setNextSample(sample: number): void;
}

/**
 * Registers `label_place(pid, address, time)`, the position of the place plus 1 or 0; `label_slot(pid, time)`, the
 * number of the slot or 0; `label_code(pid, ip)`, the position of the instruction plus 1 or 0; and `next_sample(any)`, which counts rows and so needs one thread and rows in order.
 * Times are exact as long as they lie within 104 days of the origin.
 */
export function registerLabelFunctions(
  database: Database,
  places: readonly Place[],
  timeline: Timeline,
  code: readonly CodeName[],
  originNs: bigint,
): LabelFunctions {
  const index = placeIndex(places);
  const { firstOf } = slotList(timeline);
  const originLow = Number(originNs & 0xffffffffn);
  const originHigh = Number(originNs >> 32n);
  let nextSample = 0;

  register(database, FUNCTIONS.place, [UINTEGER, UBIGINT, UBIGINT], UINTEGER, ([pid, address, time], output, rows) => {
    if (pid === undefined || address === undefined || time === undefined) return;
    for (let row = 0; row < rows; row++) {
      const low = 2 * row;
      const high = low + 1;
      const at = (address[low] as number) + (address[high] as number) * WORD;
      const when = (time[low] as number) - originLow + ((time[high] as number) - originHigh) * WORD;
      output[row] = index.find(pid[row] as number, at, when) + 1;
    }
  });

  let slotPid = -1;
  let slots: readonly Slot[] | undefined;
  let first = 0;
  let begin = 0;
  let end = 0;
  let slot = 0;
  register(database, FUNCTIONS.slot, [UINTEGER, UBIGINT], UINTEGER, ([pids, time], output, rows) => {
    if (pids === undefined || time === undefined) return;
    for (let row = 0; row < rows; row++) {
      const pid = pids[row] as number;
      const when = (time[2 * row] as number) - originLow + ((time[2 * row + 1] as number) - originHigh) * WORD;
      if (pid !== slotPid) {
        slotPid = pid;
        slots = timeline.get(pid);
        first = firstOf.get(pid) ?? 0;
        begin = end = 0;
      }
      if (slots === undefined) {
        output[row] = 0;
        continue;
      }
      // Rows come in order of time: nearly always the slot of the row before.
      if (!(when >= begin && when < end)) {
        const at = slotAt(slots, when);
        begin = slots[at]?.begin_ns ?? Number.NEGATIVE_INFINITY;
        end = slots[at + 1]?.begin_ns ?? Number.POSITIVE_INFINITY;
        slot = first + at;
      }
      output[row] = slot;
    }
  });

  const codeOf = new Map<number, Map<number, number>>();
  for (const [position, { pid, ip }] of code.entries()) {
    const own = codeOf.get(pid) ?? new Map<number, number>();
    codeOf.set(pid, own.set(Number(ip), position + 1));
  }
  let codePid = -1;
  let codes: ReadonlyMap<number, number> | undefined;
  register(database, FUNCTIONS.code, [UINTEGER, UBIGINT], UINTEGER, ([pids, ip], output, rows) => {
    if (pids === undefined || ip === undefined) return;
    for (let row = 0; row < rows; row++) {
      const pid = pids[row] as number;
      if (pid !== codePid) {
        codePid = pid;
        codes = codeOf.get(pid);
      }
      output[row] = codes?.get((ip[2 * row] as number) + (ip[2 * row + 1] as number) * WORD) ?? 0;
    }
  });

  register(database, FUNCTIONS.sample, [UBIGINT], UBIGINT, (_input, output, rows) => {
    for (let row = 0; row < rows; row++) {
      const sample = nextSample + row;
      output[2 * row] = sample % WORD;
      output[2 * row + 1] = sample / WORD;
    }
    nextSample += rows;
  });
  return {
    setNextSample(sample) {
      nextSample = sample;
    },
  };
}
