/** Whose cache a step is about, and whose cache a tensor is: one process may have several contexts. */
import type { TensorLifetime } from "../../regions/tensor-map.ts";
import { detailOf } from "../../schema/step-detail.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import type { StepRow } from "../timeline/step-row.ts";

export interface CacheContext {
  readonly pid: number;
  readonly engine: string | null;
  /** As the engine names it; null where it names none. */
  readonly context: string | null;
  /** In order of their begin. */
  readonly steps: readonly StepRow[];
}

/** A context since one of that address was made, until another one is, which may divide its cache otherwise. */
export interface ContextLife extends CacheContext {
  readonly from_ns: number;
  readonly until_ns: number;
}

/** Steps that change a cache, and that are told of by the engine's memory, not by its context. */
const OF_A_MEMORY = new Set(["kv_clear", "kv_trim", "kv_copy", "kv_keep", "kv_shift", "kv_divide"]);
const CHANGES = new Set([...OF_A_MEMORY, "kv_restore", "decode", "context_free"]);

/** The context that a step names; null for none. */
function namedBy(step: StepRow): string | null {
  if (step.kind === "context") return step.result ? `0x${step.result.toString(16)}` : null;
  const { context } = detailOf(step);
  return typeof context === "string" ? context : null;
}

/** True for a call that could not make a context. */
const madeNone = ({ kind, result }: StepRow): boolean => kind === "context" && result === 0;

/**
 * Steps behind the batches that name no context, where later ones do: the former are of the time before we looked, with what was
 * changed until then. So it is where graphs were seen to write a cache before the probes of the calls came that decode them.
 */
function sinceNamed(steps: readonly StepRow[]): readonly StepRow[] {
  const first = steps.findIndex((step) => step.kind === "decode" && namedBy(step) !== null);
  const nameless = steps.slice(0, Math.max(0, first)).findLastIndex((step) => step.kind === "decode");
  return steps.filter(({ kind }, i) => i > nameless || (kind !== "context" && !CHANGES.has(kind)));
}

/**
 * The contexts that decoded, of one engine in one process. Where there is one, every step is about it.
 * @returns no contexts where a step changes the cache of one of several and does not say of which
 */
export function cacheContexts(all: readonly StepRow[]): { contexts: readonly CacheContext[]; untold: string | null } {
  const steps = sinceNamed(all);
  const [first] = steps;
  if (first === undefined) return { contexts: [], untold: null };
  const { pid, engine } = first;
  const decoding = new Set<string | null>();
  for (const step of steps) if (step.kind === "decode") decoding.add(namedBy(step));
  const [only = null] = decoding;
  if (decoding.size <= 1) {
    // Of another context that never decoded, nothing is in a cache.
    const mine = steps.filter((step) => {
      if (only === null) return true;
      const name = namedBy(step);
      return name === only || (name === null && !madeNone(step));
    });
    return { contexts: [{ pid, engine, context: only, steps: mine }], untold: null };
  }
  if (steps.some((step) => CHANGES.has(step.kind) && namedBy(step) === null)) {
    return { contexts: [], untold: `a step does not say which of ${decoding.size} contexts it is about` };
  }
  const byContext = Map.groupBy(steps, namedBy);
  const contexts = [...decoding].map((context) => ({ pid, engine, context, steps: byContext.get(context) ?? [] }));
  return { contexts, untold: null };
}

/** The contexts that had one address, one behind the other; the last step of each is the making of the next, which ends what it held. */
export function livesOf({ steps, ...name }: CacheContext): ContextLife[] {
  const starts = [0, ...steps.flatMap(({ kind }, i) => (kind === "context" && i > 0 ? [i] : []))];
  return starts.map((start, i) => {
    const next = starts[i + 1];
    const from_ns = i === 0 ? Number.NEGATIVE_INFINITY : (steps[start]?.begin_ns ?? 0);
    const until_ns = next === undefined ? Number.POSITIVE_INFINITY : (steps[next]?.begin_ns ?? 0);
    return { ...name, steps: steps.slice(start, next === undefined ? next : next + 1), from_ns, until_ns };
  });
}

/**
 * Calls that made contexts other than those that decoded, or none, of one engine in one process; the former are not told where names are
 * pseudonyms.
 */
function madeBeside(contexts: readonly CacheContext[], steps: readonly StepRow[]): readonly StepRow[] {
  const decoding = new Set(contexts.flatMap(({ context }) => context ?? []));
  if (decoding.size === 0) return [];
  const areTold = [...decoding].every((name) => /^0x[0-9a-f]+$/.test(name));
  return steps.filter((step) => {
    const name = step.kind === "context" ? namedBy(step) : null;
    return madeNone(step) || (areTold && name !== null && !decoding.has(name));
  });
}

/**
 * Whose cache tensors of one engine in one process are, by when they were placed: while the context was made, or, for
 * those found later, while it decoded. Null where that was not seen, or several worked at that time; undefined for one of a context that
 * decodes nothing, as it was placed while that was made.
 * @param steps of that engine in that process
 */
export function contextsOfTensors(
  contexts: readonly CacheContext[],
  tensors: readonly TensorLifetime[],
  steps: readonly StepRow[],
  originNs: bigint,
): Map<TensorLifetime, string | null | undefined> {
  const [only] = contexts;
  const calls = contexts.map(({ context, steps }) => ({
    context,
    calls: steps.filter(({ kind }) => kind === "context" || kind === "decode"),
  }));
  const beside = madeBeside(contexts, steps);
  return new Map(
    tensors.map((tensor) => {
      const born = Number(tensor.birth_ns - originNs);
      const isOther = beside.some(({ begin_ns, end_ns }) => begin_ns <= born && born <= end_ns);
      if (contexts.length <= 1) return [tensor, isOther ? undefined : (only?.context ?? null)];
      const working = calls.filter(({ calls: list }) => {
        const before = list[firstIndex(list.length, (i) => (list[i]?.begin_ns ?? 0) <= born) - 1];
        return before !== undefined && before.end_ns >= born;
      });
      if (isOther) return [tensor, working.length === 0 ? undefined : null];
      return [tensor, working.length === 1 ? (working[0]?.context ?? null) : null];
    }),
  );
}
