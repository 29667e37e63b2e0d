/** The processes in which one engine was seen: each has a state of its own until its program ends. */
import type {
  AddressOf,
  Engine,
  EngineBuild,
  EngineProcess,
  EngineRow,
  Look,
  NameAt,
  ObjectAt,
  Outcome,
} from "../engine.ts";
import type { RawRecord } from "./raw-record.ts";

/** Copies memory of a process; null where it cannot be read. */
export type ReadProcess = (pid: number, address: bigint, length: number) => Uint8Array | null;

export interface FollowedProcesses {
  readonly engine: Engine;
  /** A process mapped an object of the engine. */
  mapped(pid: number, build: EngineBuild): void;
  /** True where it is known by which libraries a record is read, or an earlier one was read by none. */
  isKnown(record: RawRecord): boolean;
  take(record: RawRecord): Outcome;
  /** The process is gone; its last records may still come. */
  forget(pid: number): void;
  /** Ends those that are gone. */
  retireForgotten(): void;
  /** Reads what records named in the memory of their processes. */
  look(readMemory: ReadProcess, isLast?: boolean): { readonly process: string; readonly look: Look }[];
  /** Nothing is seen any more: ends every call that has not returned, and what is not there any more. */
  leave(readMemory: ReadProcess): void;
  /** Ends every call that has not returned. */
  flush(): void;
  takeRows(): { readonly tensors: EngineRow<"tensor">[]; readonly steps: EngineRow<"step">[] };
  /** Records since the last call that were kept, of calls that were under way, as it turned out. */
  takeUnderWay(): number;
  states(): EngineProcess[];
  /** What could not be told of any of them, also of those that are gone, each once. */
  untold(): string[];
}

interface Followed {
  readonly pid: number;
  readonly execEpoch: number;
  readonly state: EngineProcess;
}

/** None yet. */
export function followedProcesses(
  engine: Engine,
  nameAt: NameAt,
  addressOf: AddressOf,
  objectAt: ObjectAt,
): FollowedProcesses {
  const processes = new Map<number, Followed>();
  const builds = new Map<number, EngineBuild[]>();
  const leaving = new Set<Followed>();
  /** Processes that are gone, of which all may be told yet: their libraries are known until then. */
  const gone = new Set<number>();
  const tensors: EngineRow<"tensor">[] = [];
  const steps: EngineRow<"step">[] = [];
  const untoldOfGone = new Set<string>();
  let underWay = 0;

  function takeRowsOf({ state }: Followed): void {
    const rows = state.takeRows();
    tensors.push(...rows.tensors);
    steps.push(...rows.steps);
  }

  function retire(followed: Followed): void {
    leaving.delete(followed);
    followed.state.flush(true);
    takeRowsOf(followed);
    underWay += followed.state.takeUnderWay?.() ?? 0;
    for (const why of followed.state.untold?.() ?? []) untoldOfGone.add(why);
    if (processes.get(followed.pid) === followed) processes.delete(followed.pid);
  }

  function stateOf(pid: number, execEpoch: number): EngineProcess {
    const existing = processes.get(pid);
    if (existing?.execEpoch === execEpoch) return existing.state;
    if (existing) retire(existing);
    const state = engine.follow(pid, builds.get(pid) ?? [], nameAt, addressOf, objectAt);
    processes.set(pid, { pid, execEpoch, state });
    return state;
  }

  return {
    engine,
    mapped(pid, build) {
      const before = gone.delete(pid) ? [] : (builds.get(pid) ?? []);
      builds.set(pid, [...before, build]);
      processes.get(pid)?.state.useBuild(build);
    },
    isKnown: ({ pid, execEpoch }) => builds.has(pid) || processes.get(pid)?.execEpoch === execEpoch,
    take: (record) => stateOf(record.pid, record.execEpoch).take(record),
    forget(pid) {
      const followed = processes.get(pid);
      if (followed) leaving.add(followed);
      gone.add(pid);
    },
    retireForgotten() {
      for (const followed of leaving) retire(followed);
      for (const pid of gone) builds.delete(pid);
      gone.clear();
    },
    look(readMemory, isLast) {
      const looks: { readonly process: string; readonly look: Look }[] = [];
      for (const { pid, execEpoch, state } of processes.values()) {
        for (const look of state.look((address, length) => readMemory(pid, address, length), isLast)) {
          looks.push({ process: `${engine.name}/${pid}/${execEpoch}`, look });
        }
      }
      return looks;
    },
    leave(readMemory) {
      for (const { pid, state } of processes.values()) {
        state.flush();
        state.leave?.((address, length) => readMemory(pid, address, length));
      }
    },
    flush() {
      for (const { state } of processes.values()) state.flush();
    },
    takeRows() {
      for (const followed of processes.values()) takeRowsOf(followed);
      return { tensors: tensors.splice(0), steps: steps.splice(0) };
    },
    takeUnderWay() {
      for (const { state } of processes.values()) underWay += state.takeUnderWay?.() ?? 0;
      const taken = underWay;
      underWay = 0;
      return taken;
    },
    untold: () => [
      ...new Set([...untoldOfGone, ...[...processes.values()].flatMap(({ state }) => state.untold?.() ?? [])]),
    ],
    states: () => [...processes.values()].map(({ state }) => state),
  };
}
