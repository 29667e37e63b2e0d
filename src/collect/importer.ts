/** What reads a file that another tool wrote, for `import`: rows of our streams out, and what the file could not tell. */
import type { Batch } from "../columnar/batch.ts";
import type { LedgerRow } from "../schema/ledger.ts";

export interface ImportSink {
  /** Takes rows of a capture stream; they are copied before it returns. */
  onBatch(batch: Batch): void;
  /** Resolves when there is room for some MB more; awaited now and then. */
  ready(): Promise<void>;
}

export interface Imported {
  /** Name of the collector whose file it is, such as perf-mem. */
  readonly collector: string;
  /** Sources of the access rows. */
  readonly sources: readonly string[];
  /** Sources of figures that the file feeds, and why it tells no others. */
  readonly identifies: readonly string[];
  readonly blindTo: string;
  readonly ledger: readonly LedgerRow[];
  readonly warnings: readonly string[];
  /** The command that was recorded; empty where the file does not say. */
  readonly command: readonly string[];
  /** First and last time in the file, ns of its clock; 0 where it has none. */
  readonly first_ns: bigint;
  readonly last_ns: bigint;
  /** What else the file says, for metadata.json. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface Importer {
  readonly format: string;
  /** True where the first bytes of a file (up to 64 KiB) are of this format. */
  matches(start: Uint8Array): boolean;
  /** @throws MrmTraceError data_quality, with the byte or line, where nothing of the file can be read */
  read(path: string, sink: ImportSink): Promise<Imported>;
}
