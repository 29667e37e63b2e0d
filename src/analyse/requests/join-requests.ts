/**
 * Requests of our client joined to those that the engine names: by the name that the server gave in its answer, which the engine's
 * name is or begins with (vLLM puts the number of the prompt and a random word behind it, each with a dash before).
 */

import { between, bunchedText, type RequestFigure, reasonsText, UNKNOWN_ROWS } from "./request-figures.ts";
import type { RequestRow } from "./sequence-batches.ts";

/** A request of our client, and its figures without the engine's names. */
export interface OwnRequest {
  readonly row: RequestRow;
  readonly figure: RequestFigure;
}

/** Requests by each beginning of their names that ends before a dash, and by the whole. */
function byBeginning(named: readonly RequestFigure[]): ReadonlyMap<string, readonly RequestFigure[]> {
  const found = new Map<string, RequestFigure[]>();
  for (const one of named) {
    const name = one.request ?? "";
    for (let end = name.indexOf("-"); ; end = name.indexOf("-", end + 1)) {
      const beginning = end < 0 ? name : name.slice(0, end);
      const those = found.get(beginning) ?? [];
      if (those.length === 0) found.set(beginning, those);
      those.push(one);
      if (end < 0) break;
    }
  }
  return found;
}

/** The engine's request of ours, or why there is none. */
function engineRequest(
  { request, timestamp_ns, end_ns }: RequestRow,
  named: ReadonlyMap<string, readonly RequestFigure[]>,
): RequestFigure | string {
  if (request === null) return "its answer has no name, by which the engine's would be found";
  // A name that was there before, or is given again, is another request's.
  const those = named.get(request)?.filter((one) => one.timestamp_ns >= timestamp_ns && one.timestamp_ns <= end_ns);
  const [one, ...others] = those ?? [];
  if (one === undefined) return "the engine named none that it could be";
  return others.length === 0 ? one : "the engine has several of its name";
}

/** What is known of a request by both; where both tell tokens, it is the server that says what was asked of it. */
function joined({ row, figure }: OwnRequest, engine: RequestFigure, whyNoRows: string): RequestFigure {
  const wait_ns = between(row.timestamp_ns, engine.timestamp_ns);
  const evaluated_tokens = figure.evaluated_tokens ?? engine.evaluated_tokens;
  const reused_tokens = figure.reused_tokens ?? engine.reused_tokens;
  return {
    ...figure,
    request: engine.request,
    wait_ns,
    prompt_tokens: figure.prompt_tokens ?? engine.prompt_tokens,
    evaluated_tokens,
    reused_tokens,
    output_tokens: figure.output_tokens ?? engine.output_tokens,
    sequence_id: engine.sequence_id,
    sequence_by: engine.sequence_by,
    kv_bytes: engine.kv_bytes,
    saved_bytes: engine.saved_bytes,
    why: reasonsText(engine.kv_bytes === null ? whyNoRows : null, bunchedText(row)),
  };
}

/**
 * The figures of our requests, with what the engine knows of those that it names, and behind them the requests of others, numbered
 * on from ours.
 * @param ours in order of their numbers
 * @param whyNoRows why the bytes of a request are not known, where they are not
 */
export function joinedRequests(
  ours: readonly OwnRequest[],
  named: readonly RequestFigure[],
  whyNoRows: string = UNKNOWN_ROWS,
): RequestFigure[] {
  if (named.length === 0) return ours.map(({ figure }) => figure);
  const names = byBeginning(named);
  const taken = new Set<RequestFigure>();
  const figures = ours.map(({ row, figure }) => {
    const engine = engineRequest(row, names);
    if (typeof engine === "string") return { ...figure, why: reasonsText(engine, bunchedText(row)) };
    taken.add(engine);
    return joined({ row, figure }, engine, whyNoRows);
  });
  const last = figures.at(-1)?.request_id ?? 0;
  const others = named.filter((one) => !taken.has(one));
  return [...figures, ...others.map((one, i) => ({ ...one, request_id: last + 1 + i }))];
}
