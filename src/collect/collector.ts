/** What every collector is: ask first, start, take what has come, stop with the account of what was lost. */
import type { Batch } from "../columnar/batch.ts";
import type { StreamName } from "../schema/columns.ts";
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
  | {
      readonly ok: false;
      readonly reason: string;
      readonly hint: string;
      /** True where its options are to blame, and not this machine. */
      readonly isUsage?: true;
    };

/** A cost that the collector puts on the target's own time, each time an event happens; ns. */
export interface CollectorCost {
  readonly what: string;
  readonly count: number;
  readonly each_ns: { readonly value: number; readonly lo: number; readonly hi: number };
  /** True where each event is a trap of a debug register, which the report counts by itself. */
  readonly is_trap?: true;
  /** True where --budget bounds it: what causes it waits when the budget is spent. */
  readonly is_budgeted?: true;
  /** Of interrupts of so many CPUs in turn, which cost the target what falls on it while it runs; absent where it pays for each event. */
  readonly interrupted_cpus?: number;
}

/** What a collector found out that figures depend on; each absent where it is not the collector's to know. */
export interface CollectorFindings {
  /** Calibrated cost of a trap in ns. */
  readonly trap_cost_ns?: number;
  /** How often decoding said what a pair of registers saw. */
  readonly decoder_agreement?: { readonly agreed: number; readonly compared: number };
  /** Time in BPF programs over the whole run; null where the kernel did not say. */
  readonly bpf_run_ns?: number | null;
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
  /**
   * What is best done last, once all batches are taken, right before the recorder rests; absent where nothing is.
   * @returns true where this CPU should be left to the target at once
   */
  beforeRest?(): boolean;
  /** How long what it follows can wait between two calls of `batches`, in ms; absent where only rings are to be emptied. */
  patienceMs?(): number;
  /**
   * Rows of a stream that may come between two calls of `batches` before anything is lost, once started; absent where
   * what comes waits in a file.
   */
  holds?(): Readonly<Partial<Record<StreamName, number>>>;
  /** Looks at the target no more, at once: what comes while others stop, which takes time, is behind the end of the run. */
  leave?(): void;
  /**
   * Detaches, and returns the last batches and the ledger; safe to call after a failed start. The batches may be read
   * from a file while they are taken: each is copied before the next is asked for, and the ledger holds after the last.
   */
  stop(): Promise<{ readonly batches: Iterable<Batch>; readonly ledger: readonly LedgerRow[] }>;
  /**
   * What became of events so far, while it runs: events on their way are in `seen` alone. Absent where nothing is known
   * before the end.
   */
  account?(): readonly LedgerRow[];
  /** Processes that it started, whose use is the tracer's; absent where it starts none. */
  helpers?(): readonly number[];
  /** What a reader of the figures must know, of what was taken so far; absent where there is never anything. */
  warnings?(): readonly string[];
  /** What else it has to tell, of what was taken so far: keys of metadata.json, none of them another's. */
  details?(): Readonly<Record<string, unknown>>;
  /** What its events cost the target so far; absent where that is accounted elsewhere or not known. */
  costs?(): readonly CollectorCost[];
  /** Facts that figures depend on, known once started; absent where it has none. */
  findings?(): CollectorFindings;
}
