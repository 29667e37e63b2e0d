/** What an inference engine is to the tracer: recognised by exact symbols, probed by file offsets, decoded to rows. */
import type { FoundDebugData } from "../elf/debug-data.ts";
import type { DynamicSymbol } from "../elf/dynamic-symbols.ts";
import type { KvLayout } from "../regions/kv-layout.ts";
import type { RowOf } from "../schema/row.ts";
import type { DataClass } from "../schema/words.ts";
import type { CapturePlan } from "./probing/capture-plan.ts";
import type { RawRecord } from "./probing/raw-record.ts";

/** By what a build of an engine is told from another. */
export interface EngineBuild {
  readonly soname: string | null;
  readonly buildId: string | null;
  /** What its debugging data says of the structures that its engine asked for; none unless it was asked. */
  readonly debugData?: FoundDebugData;
  /** True for a stripped program of Go: of its functions of C only those are found that Go calls. */
  readonly isStripped?: true;
  /** True where its engine says so of it. */
  readonly hasOlderNames?: true;
}

/** A mapped object as the engine sees it; `symbol` finds one of its names, where the object defines it. */
export interface EngineObject extends EngineBuild {
  readonly path: string;
  symbol(name: string): DynamicSymbol | undefined;
}

/**
 * When a probe is there that is not always: `rests` where it is taken away while every process of the engine is settled, `onRequest` where it
 * is put in only while one of them asks for it, `graphSteps` where it is taken away while each was seen to decode by calls.
 */
export type Presence = "rests" | "onRequest" | "graphSteps";

/** One place to probe in an object. */
export interface EngineProbe {
  readonly symbol: string;
  /** Offset in the file. */
  readonly offset: bigint;
  readonly isReturn: boolean;
  /** Number of the probe in its engine. */
  readonly probe: number;
  /** What is copied there. */
  readonly capture: CapturePlan;
  /** When it is there; always where absent. */
  readonly presence?: Presence;
}

/** One engine of the list in engines.ts. */
export interface Engine {
  readonly name: string;
  /** Programs that are known to run it, for those who look for one. */
  readonly programs: readonly string[];
  /** Names of engines whose calls its own steps make: in a process that maps this one, they tell nothing. None unless told. */
  readonly builtOn?: readonly string[];
  /** The function that is called before any of its steps; unless told, nothing is. */
  readonly beforeSteps?: string;
  /** Exact names of its functions, by which an object is told to be a part of it. */
  readonly symbols: readonly string[];
  /** Names of structures and enumerations that must be known of a build that is not; none unless told. */
  structuresOf?(object: EngineObject): readonly string[];
  /** True of an object with functions whose names its engine has left since; of none unless told. */
  hasOlderNames?(object: EngineObject): boolean;
  /** Probes of the object; empty where it is no part of this engine. */
  probesOf(object: EngineObject): readonly EngineProbe[];
  /** True of probes that tell where tensors lie and nothing of steps: what is lost of them leaves the steps whole. None unless told. */
  tellsPlaces?(probe: number): boolean;
  /** What is known of a build, for the step row that tells of it. */
  aboutBuild(build: EngineBuild, packages: Packages): Readonly<Record<string, unknown>>;
  /** Begins to follow a process. @param builds of the engine's objects that it has mapped, in order of time */
  follow(
    pid: number,
    builds: readonly EngineBuild[],
    nameAt: NameAt,
    addressOf: AddressOf,
    objectAt: ObjectAt,
  ): EngineProcess;
}

/** Folders in which Python's installers say what is installed (`NAME-VERSION.dist-info`), beside the package that an object is in. */
export type Packages = () => readonly string[];

/** Copies `length` bytes at `address` of the target; null where they cannot be read. */
export type ReadMemory = (address: bigint, length: number) => Uint8Array | null;

/**
 * What the mapped file of weights at an address of a process says of it: the name of the tensor that begins there, null for
 * none. Null itself where no such file is mapped, or is not known yet.
 */
export type NameAt = (pid: number, addr: bigint) => { readonly name: string | null } | null;

/** Path of the object of which code is mapped at an address of a process; null where none is. */
export type ObjectAt = (pid: number, addr: bigint) => string | null;

/**
 * Where a symbol of the first object of such a path lies that a process has mapped; null where it has none that defines it, undefined
 * where the process is gone.
 */
export type AddressOf = (pid: number, object: RegExp, symbol: string) => bigint | null | undefined;

/** What became of a record; every name but `kept` is a count in the ledger. */
export type Outcome =
  | "kept"
  /** A buffer of no bytes, and what is placed in it: the engine simulates a load to learn its size. */
  | "simulated"
  /** A tensor without elements. */
  | "empty"
  /** A call about no buffer at all. */
  | "null_handle"
  /** A buffer of what one graph is given, and what lies in it: it is freed behind that graph. */
  | "passing"
  /** A buffer that another probe told of already, or a call of an engine that another one in its process is built on. */
  | "duplicate"
  /** A buffer that is not in the process's memory, such as a GPU's. */
  | "not_in_memory"
  /** The return of a call that began before the probes were there. */
  | "under_way"
  /** A return whose call was not seen: it was lost. */
  | "call_unseen"
  /** The structure's bytes could not be read. */
  | "unreadable"
  /** A check of the structure failed: the build's layout is another one. */
  | "implausible";

/** What a look at a process's memory found. */
export interface Look {
  /** Names what was looked at among all of the process. */
  readonly graph: string;
  /** Tensors that it shows, and those of them that the probes had missed. */
  readonly tensors: number;
  readonly found: number;
  /** Structures that were not believed, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** Nodes that were walked, and those of what records named and nobody has looked at yet. */
  readonly nodes: number;
  readonly unread_nodes: number;
}

/** A row of a stream as an engine makes it; the session adds the engine's name. */
export type EngineRow<T extends "tensor" | "step"> = Omit<RowOf<T>, "engine">;

/** One engine in one process, from its first record to the end of its program. */
export interface EngineProcess {
  /** The process mapped another object of the engine. */
  useBuild(build: EngineBuild): void;
  take(record: RawRecord): Outcome;
  /**
   * Reads what records named in the process's memory; read-only and bounded, the rest at the next look.
   * @param isLast nothing will be seen soon: what is looked at now and then is looked at now
   */
  look(read: ReadMemory, isLast?: boolean): readonly Look[];
  /** Nothing is seen any more, and all calls were ended: what is not there now was last known to be there at the last look. */
  leave?(read: ReadMemory): void;
  /** True while probes that rest would tell nothing new. */
  isSettled(): boolean;
  /** True while calls behind the first of each step would tell nothing new; never unless there. */
  isRepeating?(): boolean;
  /** True once a call that decodes was seen: where graphs end says nothing then. Never unless there. */
  hasCalled?(): boolean;
  /** True while probes that are put in on request would tell something; they are never asked for unless told. */
  isAsking?(nowNs: bigint): boolean;
  /** Ends the calls that have not returned: rows without an end. @param isGone whether its program has ended */
  flush(isGone?: boolean): void;
  /** Takes the rows made since the last call. */
  takeRows(): { readonly tensors: EngineRow<"tensor">[]; readonly steps: EngineRow<"step">[] };
  /** Records since the last call that were kept, and are of calls that began before the probes were there, as it turned out; none unless there. */
  takeUnderWay?(): number;
  /** Times from one decode to the next, of the last of them. */
  tokenPeriodsNs(): number[];
  kvHeads(): KvHead[];
  liveTensors(): LiveTensor[];
  /** What cannot be told of the process by what was seen so far, and why, for the warnings of a run; nothing unless there. */
  untold?(): readonly string[];
}

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
  /** True where a file that is mapped there, or who uses it, tells of it: of the other memory of its process that tells nothing. */
  readonly is_alone?: true;
}
