/** Tensors as regions: one each for weights and KV, one per buffer where tensors share addresses. */
import type { TensorLifetime } from "../../regions/tensor-map.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import { engineVerdict, type Verdict } from "./evidence.ts";
import { type Extent, uncovered } from "./uncovered.ts";

export interface EngineRegion extends Extent, Verdict {
  readonly pid: number;
  readonly addr: bigint;
  readonly name: string | null;
  readonly tensor: string | null;
  readonly logical_id: string | null;
  readonly layer: number | null;
  readonly birth_censored: boolean;
  /** Names of the tensors that share the bytes, or of one tensor; empty where there is one. */
  readonly candidates: readonly string[];
}

/** Names kept of the tensors that share a buffer. */
export const MAX_CANDIDATES = 1024;

interface Draft {
  region: EngineRegion;
  names: Set<string>;
}

/** Of a tied weight all names, the first of which is that of the tensor. */
function nameOf({ name, other_names = [] }: TensorLifetime): string | null {
  return name === null || other_names.length === 0 ? name : `${name} (also ${other_names.join(", ")})`;
}

function regionOf(life: TensorLifetime, originNs: bigint): EngineRegion {
  const begin = Number(life.addr);
  const shared = life.candidates !== null;
  return {
    ...engineVerdict(life.region_type, life.evidence),
    pid: life.pid,
    addr: life.addr,
    begin,
    end: begin + Number(life.size_bytes),
    name: nameOf(life) ?? (shared ? "buffer" : null),
    tensor: shared ? null : life.name,
    logical_id: life.logical_id,
    layer: life.layer,
    birth_ns: Number(life.birth_ns - originNs),
    death_ns: life.death_ns === null ? Number.POSITIVE_INFINITY : Number(life.death_ns - originNs),
    birth_censored: life.birth_censored,
    candidates: [],
  };
}

function meet(left: Extent, right: Extent): boolean {
  return (
    left.begin < right.end && right.begin < left.end && left.birth_ns < right.death_ns && right.birth_ns < left.death_ns
  );
}

function joined(left: EngineRegion, right: EngineRegion): EngineRegion {
  const first = right.begin < left.begin ? right : left;
  const sameBytes = left.begin === right.begin && left.end === right.end;
  return {
    ...left,
    // Which of two tensors that overlap in part an address belongs to cannot be said.
    tensor: sameBytes ? left.tensor : null,
    addr: first.addr,
    begin: first.begin,
    end: Math.max(left.end, right.end),
    birth_ns: Math.min(left.birth_ns, right.birth_ns),
    death_ns: Math.max(left.death_ns, right.death_ns),
    birth_censored: left.birth_censored && right.birth_censored,
    confidence: Math.min(left.confidence, right.confidence),
  };
}

/** Drafts that hold the address which is looked at, none of which meets another in time. */
function openDrafts() {
  const byBirth: Draft[] = [];
  const byEnd: Draft[] = [];
  const bornBefore = (time: number): number => firstIndex(byBirth.length, (i) => birthOf(byBirth[i]) < time);
  const endsBefore = (address: number): number => firstIndex(byEnd.length, (i) => endOf(byEnd[i]) < address);
  const birthOf = (draft: Draft | undefined): number => draft?.region.birth_ns ?? 0;
  const endOf = (draft: Draft | undefined): number => draft?.region.end ?? 0;

  function remove(draft: Draft): void {
    byBirth.splice(byBirth.indexOf(draft, bornBefore(birthOf(draft))), 1);
    byEnd.splice(byEnd.indexOf(draft, endsBefore(endOf(draft))), 1);
  }

  return {
    remove,
    add(draft: Draft): void {
      byBirth.splice(bornBefore(birthOf(draft)), 0, draft);
      byEnd.splice(endsBefore(endOf(draft)), 0, draft);
    },
    /** The address that is looked at is this one now. */
    advance(address: number): void {
      for (let [first] = byEnd; first !== undefined && first.region.end <= address; [first] = byEnd) remove(first);
    },
    /** The last that meets a region; undefined where none does. */
    meeting(region: EngineRegion): Draft | undefined {
      const last = byBirth[bornBefore(region.death_ns) - 1];
      return last !== undefined && meet(last.region, region) ? last : undefined;
    },
  };
}

/** Joins drafts that meet in address and time, so that no byte is counted twice; names become candidates. */
function merged(drafts: readonly Draft[]): Draft[] {
  const out = new Set<Draft>();
  const open = openDrafts();
  for (const { region, names } of drafts.toSorted((left, right) => left.region.begin - right.region.begin)) {
    open.advance(region.begin);
    let draft: Draft = { region, names: new Set(names) };
    for (let same = open.meeting(region); same !== undefined; same = open.meeting(draft.region)) {
      open.remove(same);
      same.region = joined(same.region, draft.region);
      for (const name of draft.names) same.names.add(name);
      out.delete(draft);
      draft = same;
    }
    out.add(draft);
    open.add(draft);
  }
  return [...out];
}

/** The parts of a region that the others leave. */
function pieces(region: EngineRegion, others: readonly Extent[]): EngineRegion[] {
  return uncovered(region, others).map((extent) => ({
    ...region,
    ...extent,
    addr: region.addr + BigInt(extent.begin - region.begin),
  }));
}

/**
 * The regions of one process's tensors, disjoint in address and time. Two weights at one address (tied embeddings)
 * are one region, the first by address, with both as candidates.
 */
export function engineRegions(lives: readonly TensorLifetime[], originNs: bigint): EngineRegion[] {
  const shared: Draft[] = [];
  const drafts: Draft[] = [];
  for (const life of lives) {
    if (life.size_bytes <= 0n) continue;
    const names = new Set(life.candidates ?? (life.name === null ? [] : [life.name, ...(life.other_names ?? [])]));
    (life.candidates === null ? drafts : shared).push({ region: regionOf(life, originNs), names });
  }
  const finish = ({ region, names }: Draft, always: boolean): EngineRegion => ({
    ...region,
    candidates: always || names.size > 1 ? [...names].sort().slice(0, MAX_CANDIDATES) : [],
  });
  const tensors = merged(drafts).map((draft) => finish(draft, false));
  const buffers = merged(shared).map((draft) => finish(draft, true));
  // A tensor of its own inside a shared buffer keeps its bytes.
  return [...tensors, ...buffers.flatMap((buffer) => pieces(buffer, tensors))];
}
