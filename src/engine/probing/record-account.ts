/** What became of every hit of an engine's probes, for the ledger. */
import type { LedgerRow, Stage } from "../../schema/ledger.ts";
import type { Look, Outcome } from "../engine.ts";
import { graphTally } from "./graph-tally.ts";

const FILTERED: readonly Outcome[] = [
  "simulated",
  "empty",
  "passing",
  "duplicate",
  "null_handle",
  "not_in_memory",
  "under_way",
];
const DROPPED: readonly Outcome[] = ["call_unseen", "unreadable", "implausible"];

/** Counts of the kernel program. */
export interface KernelCounts {
  readonly hits: number;
  /** Of these, at which the processor stepped over what the probe replaced. */
  readonly stepped: number;
  readonly foreign: number;
  readonly unwanted: number;
  readonly ring_full: number;
}

/** Probes asked for and refused, and objects that could not be read or that no file is behind. */
export interface AttachCounts {
  readonly asked: number;
  readonly refused: number;
  readonly refusedBy: Readonly<Record<string, number>>;
  readonly unreadableObjects: number;
  readonly objectsWithoutFile: number;
}

export interface RecordAccount {
  /** @param tellsPlaces whether the record tells where tensors lie, and nothing of steps */
  count(outcome: Outcome | "malformed", tellsPlaces?: boolean): void;
  /** So many records that were kept are of calls that began before the probes were there, as it turned out. */
  recountUnderWay(records: number): void;
  /** @param process names it among all that are followed */
  countLook(process: string, look: Look): void;
  /** @param isOver false while records may be under way: which of them are lost is not known yet */
  ledger(kernel: KernelCounts, attach: AttachCounts, isOver: boolean): LedgerRow[];
}

/** Sums of named counts. */
function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, n) => sum + n, 0);
}

function row(stage: Stage, kept: number, filtered: number, by: Record<string, number>): LedgerRow {
  const dropped_by = Object.fromEntries(Object.entries(by).filter(([, n]) => n > 0));
  const dropped = total(dropped_by);
  const seen = kept + filtered + dropped;
  const place = { stream: "engine", source: null, stage, way: null } as const;
  return { ...place, pid: null, seen, kept, filtered, dropped, dropped_by, unseen_estimate: null };
}

type Outcomes = Record<Outcome | "malformed", number>;

const noneYet = (): Outcomes => ({
  kept: 0,
  simulated: 0,
  empty: 0,
  passing: 0,
  duplicate: 0,
  null_handle: 0,
  not_in_memory: 0,
  under_way: 0,
  call_unseen: 0,
  unreadable: 0,
  implausible: 0,
  malformed: 0,
});

/** What became of records when rows were made of them. */
function decoded(outcomes: Outcomes): LedgerRow {
  const filtered = FILTERED.reduce((sum, name) => sum + outcomes[name], 0);
  const refusals = Object.fromEntries(DROPPED.map((name) => [name, outcomes[name]]));
  return row("decode", outcomes.kept, filtered, { ...refusals, malformed: outcomes.malformed });
}

/** Nothing counted yet. */
export function recordAccount(): RecordAccount {
  const [outcomes, ofPlaces] = [noneYet(), noneYet()];
  const graphs = graphTally();
  return {
    count(outcome, tellsPlaces = false) {
      (tellsPlaces ? ofPlaces : outcomes)[outcome] += 1;
    },
    recountUnderWay(records) {
      outcomes.kept -= records;
      outcomes.under_way += records;
    },
    countLook: graphs.note,
    ledger(
      { hits, foreign, unwanted, ring_full },
      { asked, refused, refusedBy, unreadableObjects, objectsWithoutFile },
      isOver,
    ) {
      const passed = foreign + unwanted;
      const delivered = total(outcomes) + total(ofPlaces);
      const graph = graphs.counts();
      const not_drained = !isOver ? 0 : Math.max(0, hits - passed - ring_full - delivered);
      return [
        row("attach", asked - refused, objectsWithoutFile, { ...refusedBy, object_unreadable: unreadableObjects }),
        row("observe", hits - passed, passed, {}),
        row("ring", delivered, 0, { ring_full, not_drained }),
        decoded(outcomes),
        ...(total(ofPlaces) > 0 ? [{ ...decoded(ofPlaces), source: "region_map" as const }] : []),
        {
          ...row("decode", graph.found, graph.known, graph.refused),
          stream: "tensor",
          source: "region_map",
          way: "graph",
        },
      ];
    },
  };
}
