/** What all requests of a run took, in a few numbers. */
import type { RequestSummary } from "../../schema/run-json.ts";
import { quantile } from "../../statistics/quantile.ts";
import type { RequestFigure } from "./request-figures.ts";
import type { RequestRow } from "./sequence-batches.ts";
import { wholeRequests } from "./whole-requests.ts";

const WHY =
  "not identifiable: steps tell batches, not which tokens are of one request, nor when it was sent, which its client knows; with `run --serve` and in experiments of servers that client is ours";

/** Of a run whose client is not ours. */
export function notOurs(): RequestSummary {
  const times = { ttft_ms: null, wait_ms: null, token_gap_ms: null };
  const sums = { prompt_tokens: null, reused_tokens: null, output_tokens: null, streamed_tokens: null };
  const rates = { engine_tokens_per_s: null, engine_later_tokens_per_s: null, streamed_tokens_per_s: null };
  return { requests: null, answered: null, ...times, ...sums, ...rates, kv_bytes: null, why: WHY };
}

/** Of requests that the engine names, whose client is not ours: how many sequences beside them have no name, and how many of them had not ended. */
export function namedSummary(
  figures: readonly RequestFigure[],
  { unnamed = 0, underWay = new Set() }: { readonly unnamed?: number; readonly underWay?: ReadonlySet<number> } = {},
): RequestSummary {
  const held = (isOpen: boolean) =>
    figures.filter(({ request_id }) => underWay.has(request_id) === isOpen).map(({ kv_bytes }) => kv_bytes);
  const { count } = wholeRequests(figures.map(({ request }) => request));
  return {
    ...notOurs(),
    requests: count,
    ...(count < figures.length ? { sequences: figures.length } : {}),
    prompt_tokens: sum(figures.map(({ prompt_tokens }) => prompt_tokens)),
    reused_tokens: sum(figures.map(({ reused_tokens }) => reused_tokens)),
    output_tokens: sum(figures.map(({ output_tokens }) => output_tokens)),
    // One that goes on holds more before it ends.
    kv_bytes: shares(
      held(false),
      1,
      held(true).flatMap((bytes) => (bytes === null ? [] : [Number(bytes)])),
    ),
    retention_ms: shares(
      figures.map(({ retention_max_ns }) => retention_max_ns),
      1e6,
    ),
    saved_bytes: sum(figures.map(({ saved_bytes }) => (saved_bytes === null ? null : Number(saved_bytes)))),
    ...(unnamed > 0 ? { unnamed } : {}),
    ...(underWay.size > 0 ? { under_way: underWay.size } : {}),
    why: null,
  };
}

/**
 * Quantiles of what some of the rows tell; null where none does. A quantile that those decide of which the end was not seen is a bound.
 * @param open how long each of these lasted at least
 */
function shares(
  values: readonly (bigint | null)[],
  unit: number,
  open: readonly number[] = [],
): RequestSummary["ttft_ms"] {
  const numbers = values.flatMap((value) => (value === null ? [] : [Number(value) / unit]));
  if (numbers.length + open.length === 0) return null;
  const soon = [...numbers, ...open.map((time) => time / unit)];
  const late = [...numbers, ...open.map(() => Number.MAX_VALUE)];
  const [p50, p50_late, p99, p99_late] = [0.5, 0.99].flatMap((q) => [quantile(soon, q), quantile(late, q)]);
  return {
    ...(p50 === p50_late ? { p50: p50 ?? null } : { p50: null, p50_at_least: p50 ?? null }),
    ...(p99 === p99_late ? { p99: p99 ?? null } : { p99: null, p99_at_least: p99 ?? null }),
  };
}

/** How long those waited to which no token came, until they were given up, cut, or failed. One that was refused was not waiting, and an answer without a token is one. */
export function waitedInVain(rows: readonly RequestRow[]): number[] {
  return rows.flatMap(({ status, first_token_ns, timestamp_ns, end_ns }) =>
    first_token_ns !== null || status === "refused" || status === "answered"
      ? []
      : [Math.max(0, Number(end_ns - timestamp_ns))],
  );
}

/** The sum of what every row tells; null where one does not, as it would be too small. */
function sum(values: readonly (number | null)[]): number | null {
  return values.reduce((total, value) => (total === null || value === null ? null : total + value), 0 as number | null);
}

const perSecond = (tokens: number | null, ns: number | null): number | null =>
  tokens === null || ns === null || ns <= 0 ? null : (tokens * 1e9) / ns;

/** The rates of the answers, each by the time of who tells it. */
function ratesOf(
  answered: readonly RequestFigure[],
): Pick<RequestSummary, "engine_tokens_per_s" | "engine_later_tokens_per_s" | "streamed_tokens_per_s"> {
  const counted = sum(answered.map(({ output_tokens }) => output_tokens));
  const output_ns = sum(answered.map((figure) => (figure.output_ns === null ? null : Number(figure.output_ns))));
  const firsts = answered.filter(({ output_tokens }) => (output_tokens ?? 0) > 0).length;
  const streamed = answered.flatMap(({ streamed_tokens, generation_ns }) =>
    streamed_tokens === null || streamed_tokens < 2 || generation_ns === null
      ? []
      : [{ later: streamed_tokens - 1, ns: Number(generation_ns) }],
  );
  return {
    engine_tokens_per_s: perSecond(counted, output_ns),
    engine_later_tokens_per_s: perSecond(counted === null ? null : counted - firsts, output_ns),
    streamed_tokens_per_s: perSecond(sum(streamed.map(({ later }) => later)), sum(streamed.map(({ ns }) => ns))),
  };
}

/**
 * Of requests of our client; those that the engine names beside them are counted, and in no sum.
 * @param waited of those to which no token came, ns
 */
export function summaryOf(all: readonly RequestFigure[], waited: readonly number[] = []): RequestSummary {
  const figures = all.filter(({ status }) => status !== "served");
  const joined = figures.filter(({ request }) => request !== null).length;
  const served = all.filter(({ status }) => status === "served");
  const others = wholeRequests(served.map(({ request }) => request)).count;
  const answered = figures.filter(({ status }) => status === "answered");
  const bunched = answered.filter(
    ({ token_gap_p50_ns, streamed_tokens }) => token_gap_p50_ns === null && (streamed_tokens ?? 2) > 1,
  ).length;
  const begun = figures.filter(({ ttft_ns, wait_ns }) => ttft_ns === null && wait_ns !== null).length;
  const each = <K extends keyof RequestFigure>(name: K) => figures.map((figure) => figure[name]);
  /** Null where no request tells it. */
  const times = (name: "ttft_ns" | "wait_ns", open: readonly number[]) =>
    each(name).every((time) => time === null) ? null : shares(each(name), 1e6, open);
  return {
    requests: figures.length,
    answered: answered.length,
    ttft_ms: times("ttft_ns", waited),
    // When a batch took one of these is not told: it may not have waited at all.
    wait_ms: times("wait_ns", new Array<number>(Math.max(0, waited.length - begun)).fill(0)),
    token_gap_ms: shares(each("token_gap_p50_ns"), 1e6),
    ...(bunched > 0 ? { bunched } : {}),
    prompt_tokens: sum(answered.map(({ prompt_tokens }) => prompt_tokens)),
    reused_tokens: sum(answered.map(({ reused_tokens }) => reused_tokens)),
    output_tokens: sum(answered.map(({ output_tokens }) => output_tokens)),
    streamed_tokens: sum(each("streamed_tokens")),
    ...ratesOf(answered),
    kv_bytes: shares(each("kv_bytes"), 1),
    retention_ms: shares(each("retention_max_ns"), 1e6),
    ...(joined + others === 0 ? {} : { joined, others }),
    saved_bytes: sum(answered.map(({ saved_bytes }) => (saved_bytes === null ? null : Number(saved_bytes)))),
    why: null,
  };
}
