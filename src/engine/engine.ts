/** What an inference engine is to the tracer: recognised by exact symbols, probed by file offsets, decoded to rows. */

import type { Batch } from "../columnar/batch.ts";
import type { DynamicSymbol } from "../elf/dynamic-symbols.ts";
import type { KvLayout } from "../regions/kv-layout.ts";
import type { LedgerRow } from "../schema/ledger.ts";
import type { RowOf } from "../schema/row.ts";
import type { DataClass } from "../schema/words.ts";

/** A mapped object as the engine sees it; `dynamicSymbol` finds one defined symbol by its exact name. */
export interface EngineObject {
  readonly path: string;
  readonly soname: string | null;
  readonly buildId: string | null;
  dynamicSymbol(name: string): DynamicSymbol | undefined;
}

/** One place to probe in an object. */
export interface EngineProbe {
  readonly symbol: string;
  /** Offset in the file. */
  readonly offset: bigint;
  readonly isReturn: boolean;
  readonly cookie: bigint;
}

export interface Engine {
  readonly name: string;
  /** Probes of the object; empty where it is no part of this engine. */
  probesOf(object: EngineObject): readonly EngineProbe[];
}

/** What attaching to one object gave. */
export interface AttachResult {
  /** False where the object is no part of an engine, or was attached before. */
  readonly attached: boolean;
  readonly symbols: readonly string[];
  /** Time for reading the symbols and attaching, in ns. */
  readonly took_ns: bigint;
}

/** A row of a stream as an engine makes it; the session adds the engine's name. */
export type EngineRow<T extends "tensor" | "step"> = Omit<RowOf<T>, "engine">;

/** Where the next row of a context's KV cache will be written. */
export interface KvHead {
  /** Name of the engine. */
  readonly engine: string;
  readonly pid: number;
  readonly context: bigint;
  /** Position of the next token; its row where one sequence fills the cache from its start. */
  readonly next_row: number;
  /** Sequences seen since the cache was cleared. */
  readonly sequences: number;
}

/** A tensor that is in memory now. */
export interface LiveTensor {
  /** Name of the engine. */
  readonly engine: string;
  readonly pid: number;
  readonly name: string | null;
  readonly tensor_type: string | null;
  readonly addr: bigint;
  readonly size_bytes: number;
  readonly ne: readonly number[];
  readonly nb: readonly number[];
  readonly region_type: DataClass;
  readonly layer: number | null;
  readonly logical_id: string | null;
  /** Null for what is no cache. */
  readonly kv_layout: KvLayout | null;
  /** False where nearly every watch would see nothing, such as a table of which few rows are read. */
  readonly drawn: boolean;
}

/** The probes of one run, attached and live. */
export interface EngineSession {
  /**
   * Probes an object if it belongs to the engine; once per file, once recorded per process.
   * @param path the mapped object as this process can open it
   * @param pid who mapped it
   * @param mappedNs when it was mapped, where known: the gap until the probes is recorded
   */
  attachObject(path: string, pid: number, mappedNs?: bigint): Promise<AttachResult>;
  /** Rows of `tensor` and `step` since the last call; never blocks. */
  drain(): Batch[];
  /** Detaches; the last rows, and what was lost. */
  stop(): { readonly batches: Batch[]; readonly ledger: LedgerRow[] };
  /** Lets go of a process that is gone; its rows come with the next drain. */
  forget(pid: number): void;
  /** What one hit of a probe cost on a function of our own, in ns; null where it could not be measured. */
  readonly probeCostNs: number | null;
  /** Median time from one decode to the next over the last 32; null before the fourth. */
  tokenPeriodNs(): number | null;
  kvHead(): KvHead[];
  liveTensors(): LiveTensor[];
}
