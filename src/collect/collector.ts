/** What every collector is: ask first, start, take what has come, stop with the account of what was lost. */
import type { Batch } from "../columnar/batch.ts";
import type { LedgerRow } from "../schema/ledger.ts";

/** The process tree to watch; it exists and has not run its command yet when `held`. */
export interface Target {
  readonly pid: number;
  readonly command: readonly string[];
  /** True while the root waits to exec its command, so that its first mapping will be seen. */
  readonly held: boolean;
}

export type Capability =
  | {
      readonly ok: true;
      readonly sources: readonly string[];
      readonly whyNotBetter: string;
      /** Sources of figures, as the metrics name them, that its streams feed. */
      readonly identifies: readonly string[];
      /** Why the metrics of all other sources are not identifiable by it, in one sentence. */
      readonly blindTo: string;
    }
  | { readonly ok: false; readonly reason: string; readonly hint: string };

/** A cost that the collector puts on the target's own time, each time an event happens; ns. */
export interface CollectorCost {
  readonly what: string;
  readonly count: number;
  readonly each_ns: { readonly value: number; readonly lo: number; readonly hi: number };
}

export interface Collector {
  readonly name: string;
  /** Says whether it can run here; never throws, changes nothing. */
  canRun(target: Target): Promise<Capability>;
  /** The command line under which the target runs; absent where the collector attaches to a target that waits. */
  launch?(command: readonly string[]): readonly string[];
  /** Attaches everything; after it resolves no event of the target is missed unless counted. @throws MrmTraceError */
  start(target: Target): Promise<void>;
  /** What came since the last call, in batches of a row or more, each good until the next; never blocks, called every few ms. */
  batches(): Batch[];
  /** How long what it follows can wait between two calls of `batches`, in ms; absent where only rings are to be emptied. */
  patienceMs?(): number;
  /**
   * Detaches, and returns the last batches and the ledger; safe to call after a failed start. The batches may be read
   * from a file while they are taken: each is copied before the next is asked for, and the ledger holds after the last.
   */
  stop(): Promise<{ readonly batches: Iterable<Batch>; readonly ledger: readonly LedgerRow[] }>;
  /** Processes that it started, whose use is the tracer's; absent where it starts none. */
  helpers?(): readonly number[];
  /** What a reader of the figures must know, once the last batch was taken; absent where there is never anything. */
  warnings?(): readonly string[];
  /** What else it has to tell, for metadata.json, once the last batch was taken. */
  details?(): Readonly<Record<string, unknown>>;
  /** What its events cost the target, once stopped; absent where that is accounted elsewhere or not known. */
  costs?(): readonly CollectorCost[];
}
