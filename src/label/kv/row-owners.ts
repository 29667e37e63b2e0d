/** Whose the rows of a cache were, and how it came that their blocks were given out again, where the engine names its requests. */
import { detailOf } from "../../schema/step-detail.ts";
import type { StepRow } from "../timeline/step-row.ts";
import { NO_OTHERS } from "./shared-lists.ts";
import type { TokenColumns } from "./token-columns.ts";

/** Of one engine in one process. */
export interface NamedSequences {
  /** The engine's name of a sequence's request; null where it is not known. */
  nameOf(sequence: number): string | null;
  /** Tokens of the prompt of that request; null where they are not known. */
  promptTokensOf(sequence: number): number | null;
  /** False where that request has no answer of tokens, as for embeddings; true also where nobody says. */
  generates(sequence: number): boolean;
  /** How a sequence ended: with its request, or to begin anew as another one; null where that is not known, or it goes on. */
  fateOf(sequence: number): "finished" | "preempted" | null;
  /** True where the engine said that its request ended, whichever of its sequences that had by then. */
  isOver(sequence: number): boolean;
}

interface Request {
  readonly name: string;
  prompt_tokens: number | null;
  generates: boolean;
  /** The newest of its sequences, which are numbered in order of their begin. */
  newest: number;
  isGone: boolean;
}

/** What the steps of one engine in one process say of requests; null where they name none. */
export function namedSequences(steps: readonly StepRow[]): NamedSequences | null {
  const requests = new Map<string, Request>();
  const ofSequence = new Map<number, Request>();
  for (const step of steps) {
    if (step.kind !== "request" || step.sequence_id === null) continue;
    const { request: name, prompt_tokens, generates, is_gone } = detailOf(step);
    if (typeof name !== "string") continue;
    const nothing = { prompt_tokens: null, generates: true, newest: step.sequence_id, isGone: false };
    const request: Request = requests.get(name) ?? { name, ...nothing };
    requests.set(name, request);
    ofSequence.set(step.sequence_id, request);
    request.newest = Math.max(request.newest, step.sequence_id);
    if (typeof prompt_tokens === "number") request.prompt_tokens = prompt_tokens;
    if (generates === false) request.generates = false;
    if (is_gone === true) request.isGone = true;
  }
  if (requests.size === 0) return null;
  return {
    nameOf: (sequence) => ofSequence.get(sequence)?.name ?? null,
    promptTokensOf: (sequence) => ofSequence.get(sequence)?.prompt_tokens ?? null,
    generates: (sequence) => ofSequence.get(sequence)?.generates ?? true,
    fateOf(sequence) {
      const request = ofSequence.get(sequence);
      if (request === undefined) return null;
      if (request.newest > sequence) return "preempted";
      return request.isGone ? "finished" : null;
    },
    isOver: (sequence) => ofSequence.get(sequence)?.isGone ?? false,
  };
}

/** What one set of sequences is called, and what became of all of them alike. */
interface Owners {
  readonly requests: string | null;
  readonly fate: "finished" | "preempted" | null;
}

const NOBODY: Owners = { requests: null, fate: null };

function ownersOf(sequences: readonly number[], named: NamedSequences): Owners {
  const newest = new Map<string, number>();
  let isWhole = true;
  for (const sequence of sequences) {
    const name = named.nameOf(sequence);
    if (name === null) isWhole = false;
    else newest.set(name, Math.max(sequence, newest.get(name) ?? sequence));
  }
  if (!isWhole) return NOBODY;
  // A request that began anew and found the row again had it to the end of its newest sequence.
  const [fate = null, ...others] = new Set(newest.values().map(named.fateOf));
  return { requests: JSON.stringify([...newest.keys()]), fate: others.length === 0 ? fate : null };
}

/** Puts down the requests that had rows, and why blocks were given out again. */
export function nameOwners(columns: TokenColumns, rows: Uint32Array, named: NamedSequences): void {
  const ownersBy = new Map<string, Owners>();
  let last = { sequence: Number.NaN, others: NO_OTHERS, owners: NOBODY };
  for (const row of rows) {
    const { sequence } = columns.origin(row);
    if (sequence === null) continue;
    const others = columns.others.get(row);
    if (last.sequence !== sequence || last.others !== others) {
      const ids = columns.shared.ids(others);
      const key = ids.length === 0 ? String(sequence) : `${sequence}+${ids.join()}`;
      const owners = ownersBy.get(key) ?? ownersOf([sequence, ...ids], named);
      ownersBy.set(key, owners);
      last = { sequence, others, owners };
    }
    const { requests, fate } = last.owners;
    const end = columns.end(row);
    columns.setRequests(row, requests);
    if (end?.by === "given_out" && fate !== null) columns.setEnd(row, { ...end, by: fate });
  }
}
