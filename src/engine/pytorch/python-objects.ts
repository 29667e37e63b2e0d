/** The memory that the Python of a program keeps its small objects in, which is no data of a model. */
import { nullsOf } from "../../schema/row.ts";
import { pythonInterpreter } from "../cpython/interpreter.ts";
import { ARENA_BYTES, type ObjectArenas, objectArenas } from "../cpython/object-arenas.ts";
import type { AddressOf, EngineRow, ReadMemory } from "../engine.ts";
import { goneRow } from "./gone-row.ts";

export interface PythonObjects {
  /** Looks for that memory, and from time to time for what came and went of it. */
  look(read: ReadMemory, now_ns: bigint, isLast: boolean): void;
  takeRows(): EngineRow<"tensor">[];
}

/** Time between looks at the table. */
const LOOK_NS = 1_000_000_000n;
const NAME = "objects of Python";

/** None known yet. */
export function pythonObjectMemory(pid: number, addressOf: AddressOf): PythonObjects {
  /** Undefined before it was asked for; null where there is no Python whose symbols say where it is. */
  let arenas: ObjectArenas | null | undefined;
  let isSearching = true;
  /** What the search reads is the process as it is at each call. */
  let reading: ReadMemory = () => null;
  let lookedNs = 0n;
  let placed: ReadonlySet<bigint> = new Set();
  const rows: EngineRow<"tensor">[] = [];

  const size_bytes = BigInt(ARENA_BYTES);

  function tell(addr: bigint, timestamp_ns: bigint): void {
    const { engine: _, ...none } = nullsOf("tensor");
    const place = { addr, size_bytes, buffer: addr, buffer_addr: addr, buffer_size_bytes: size_bytes };
    const evidence = "engine_objects";
    rows.push({ ...none, timestamp_ns, pid, tid: pid, kind: "graph", name: NAME, ...place, evidence });
  }

  function begin(read: ReadMemory): ObjectArenas | null {
    const runtime = pythonInterpreter(pid, addressOf, read)?.runtime ?? null;
    return runtime === null ? null : objectArenas((address, length) => reading(address, length), runtime);
  }

  return {
    look(read, now_ns, isLast) {
      reading = read;
      if (arenas === undefined) arenas = begin(read);
      if (arenas === null) return;
      if (isSearching) isSearching = arenas.search();
      if (isSearching || (now_ns < lookedNs + LOOK_NS && !isLast)) return;
      lookedNs = now_ns;
      const now = arenas.now();
      if (now === null) return;
      const from = { timestamp_ns: now_ns, pid, tid: pid, evidence: "engine_objects" } as const;
      for (const addr of placed) if (!now.has(addr)) rows.push(goneRow({ addr, size_bytes }, from));
      for (const addr of now) if (!placed.has(addr)) tell(addr, now_ns);
      placed = now;
    },
    takeRows: () => rows.splice(0),
  };
}
