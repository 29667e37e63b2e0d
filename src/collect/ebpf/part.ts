/** What a part of the eBPF collector is: one kind of BPF program, from its start to the account of what it lost. */
import type { Batch } from "../../columnar/batch.ts";
import type { BpfCost } from "../../kernel/bpf-costs.ts";
import type { BpfObject } from "../../kernel/bpf-object.ts";
import type { Looks } from "../../kernel/looks.ts";
import type { StreamName } from "../../schema/columns.ts";
import type { LedgerPlace, LedgerRow } from "../../schema/ledger.ts";
import type { CollectorCost, CollectorFindings, Target } from "../collector.ts";
import type { BudgetShares } from "./budget-shares.ts";
import type { StringTicks } from "./copies/beside-watches.ts";
import type { EngineSight } from "./engine/engine-part.ts";
import type { MappingFeed } from "./lifecycle/lifecycle-part.ts";
import type { HotParts } from "./watch/frame/hot-parts.ts";

/** The BPF object of a part: what a run loads, and what an examination of the machine tries. */
export interface PartPrograms {
  /** Name of the part, of its folder and of its object. */
  readonly name: string;
  /** What a run has by it, in a few words. */
  readonly gives: string;
  /** False where a run can do without it. */
  readonly required: boolean;
  /** Keys of metadata.json that it fills; null where the part did not run. */
  readonly tells: readonly string[];
  /**
   * Loads the programs as this kernel takes them and attaches nothing.
   * @param reuse maps of another object, by name: fd
   * @throws MrmTraceError environment
   */
  load(reuse: Readonly<Record<string, number>>): Promise<LoadedPrograms>;
}

export interface LoadedPrograms {
  readonly object: BpfObject;
  /** True where uprobes of many places are attached by one link. */
  readonly uprobeMulti: boolean;
}

/** What a part finds when it starts: the target, and what the parts before it offer. */
export interface Scene {
  readonly target: Target;
  readonly mappings: MappingFeed;
  readonly budget: BudgetShares;
  /** Where looks that hold a lock of the target are counted. */
  readonly looks: Looks;
  /** Null where no engine is looked for. */
  readonly engine: EngineSight | null;
  /** Where samples fell lately; null where none are taken. */
  readonly heat: HotParts | null;
  /** How often the timer found the target on a string instruction so far; null where there is no timer. */
  readonly strings: (() => StringTicks) | null;
}

/** A part that was asked for and has not started. */
export interface PlannedPart {
  readonly name: string;
  /** Sources of accesses, as --source names them. */
  readonly sources: readonly string[];
  /** Sources of figures, as the metrics name them, that its streams feed. */
  readonly identifies: readonly string[];
  /** Why figures of other sources are not known by its accesses; null where it has none. */
  readonly blindTo: string | null;
  /** True where it needs a share of the budget. */
  readonly spends: boolean;
  /**
   * Loads and attaches.
   * @returns the part, or why the kernel refuses it where the run goes on without
   * @throws MrmTraceError environment, where the run cannot go on without it
   */
  start(scene: Scene): Promise<Part | { readonly refused: string }>;
}

/** A part that runs. */
export interface Part extends Disposable {
  /** Name of its BPF object. */
  readonly name: string;
  /** What its programs see: the events of a run that the kernel skips. */
  readonly sees: Pick<LedgerPlace, "stream" | "source">;
  /** What the parts after it may use. */
  readonly offers?: Partial<Pick<Scene, "engine" | "heat" | "strings">>;
  /** How long what it follows can wait between two polls, in ms; absent where only rings are to be emptied. */
  readonly patienceMs?: number;
  /** Rows of a stream that may come between two polls, as all of them may be of one CPU. */
  readonly holds?: Readonly<Partial<Record<StreamName, number>>>;
  /** What came since the last call, each batch good until the next; `nowNs` is CLOCK_MONOTONIC. */
  poll(nowNs: bigint): Batch[];
  /**
   * What is done last of a poll, right before the rest: a watch that begins while there is still work on this CPU begins
   * while the target lacks it.
   * @returns true where this CPU should be left to the target at once
   */
  beforeRest?(nowNs: bigint): boolean;
  /** Looks at the target no more, at once: what is done while programs are detached, which takes time, is passed over. */
  leave?(): void;
  /** Detaches, so that rings and counters stand still. */
  detach(): void;
  /** The last batches, and the account of all; called once every part is detached, in the order of their start. */
  stop(): { readonly batches: Batch[]; readonly ledger: LedgerRow[] };
  /** What became of events so far, while it runs. */
  account(): LedgerRow[];
  /** What its events cost the target so far. @param programs what its own BPF programs took */
  costs?(programs: readonly BpfCost[]): readonly CollectorCost[];
  /** Calls of the target so far that need its map to themselves: only these wait for a look at it. */
  mappingCalls?(): number;
  /** What a reader of the figures must know by now. */
  warnings?(): readonly string[];
  /** Facts that figures depend on, known once started. */
  findings?(): CollectorFindings;
  /** For metadata.json, as of now: the keys that its programs tell. */
  details?(): Readonly<Record<string, unknown>>;
}

/** How long a part that reacts to what it sees may be left alone: what it sees is then 10 ms old on average. */
export const ATTENTIVE_MS = 20;
