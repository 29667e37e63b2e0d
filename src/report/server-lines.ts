/** What the engine's own server counted, and what its clients saw. */
import type { RequestSummary, RunReport } from "../schema/run-json.ts";
import { formatBytes, formatCount, formatCounted, formatNs, isShown } from "../units.ts";
import { reusedShareText } from "./reused-share.ts";

const isNumber = (value: number | null): value is number => isShown(value) && value >= 0;

/** What the engine's own server counted; null where it was not asked. */
export function countsText({ target: { engine_counts: counts } }: RunReport): string | null {
  if (counts === undefined) return null;
  if (counts.why !== null) return `its own count of tokens is not known: ${counts.why}`;
  const parts = [
    `counts ${formatCount(counts.prompt_tokens ?? 0)} prompt`,
    `${formatCount(counts.generated_tokens ?? 0)} generated`,
    ...(isNumber(counts.generated_tokens_per_s) ? [`${formatCount(counts.generated_tokens_per_s)}/s`] : []),
    ...(counts.requests_under_way
      ? [`${formatCounted(counts.requests_under_way, "request")} cut by the recording`]
      : []),
  ];
  return parts.join(", ");
}

/** The same, short enough for the answer. */
export function countsInShort(report: RunReport): string | null {
  const why = report.target.engine_counts?.why ?? null;
  return why === null ? countsText(report) : `no count: ${why}`;
}

/** Two quantiles, `p50 5.1 ms, p99 >= 9 ms` where the latter is a bound; nothing where they are not known. */
function sharesText(
  what: string,
  shares: NonNullable<RunReport["requests"]>["ttft_ms"],
  format: (value: number) => string,
): string[] {
  if (shares === null) return [];
  const text = (value: number | null, least: number | null = null): string | null =>
    isNumber(value) ? format(value) : isNumber(least) ? `>= ${format(least)}` : null;
  const [p50, p99] = [text(shares.p50, shares.p50_at_least), text(shares.p99, shares.p99_at_least)];
  return p50 === null || p99 === null ? [] : [`${what} p50 ${p50}, p99 ${p99}`];
}

/** Tokens of the answers and their rates, each by who tells it: of one answer, whatever others were under way beside it. */
function answersText(took: NonNullable<RunReport["requests"]>): string[] {
  if (took.output_tokens === null) return [];
  const rate = (value: number | null | undefined): string | null =>
    value == null || !isNumber(value) ? null : `${formatCount(value)}/s`;
  const [counted, later, streamed] = [
    rate(took.engine_tokens_per_s),
    rate(took.engine_later_tokens_per_s),
    rate(took.streamed_tokens_per_s),
  ];
  const without = later === null ? "" : ` (${later} without the first of each)`;
  return [
    [
      `answers ${formatCount(Number(took.output_tokens))} tokens`,
      ...(counted === null ? [] : [`${counted} as the server counts${without}`]),
      ...(streamed === null ? [] : [`${streamed} at the client`]),
    ].join(", "),
  ];
}

/** What of the work had not ended, and what of it nobody named, behind what was named. */
const openText = ({
  sequences,
  unnamed,
  under_way,
}: Pick<RequestSummary, "sequences" | "unnamed" | "under_way">): readonly string[] => [
  ...(sequences === undefined ? [] : [`${formatCount(sequences)} sequences of them`]),
  ...(under_way === undefined ? [] : [`${formatCount(under_way)} of them not seen to end`]),
  ...(unnamed === undefined ? [] : [`${formatCounted(unnamed, "sequence")} without a name`]),
];

/** Tokens of the prompts, and which of them came from the cache; nothing where nobody tells the former. */
function promptsText({ prompt_tokens, reused_tokens, saved_bytes }: RequestSummary): string[] {
  if (prompt_tokens === null) return [];
  const prompts = `prompts ${formatCount(Number(prompt_tokens))} tokens`;
  if (reused_tokens === null) return [prompts];
  const share = reusedShareText(Number(reused_tokens), Number(prompt_tokens));
  const bytes = saved_bytes == null ? null : `${formatBytes(Number(saved_bytes))} of KV`;
  const more = [share, bytes].filter((text) => text !== null).join(", ");
  return [`${prompts}, ${formatCount(Number(reused_tokens))} of them in its cache${more === "" ? "" : ` (${more})`}`];
}

/** What the requests of our client took, or why nobody knows; null where there is nothing to ask about. */
export function requestsText({ requests: took }: RunReport): string | null {
  if (took === undefined || took === null) return null;
  if (took.why !== null) return took.why;
  const ms = (value: number): string => formatNs(value * 1e6);
  return [
    took.answered === null
      ? `${took.requests ?? 0} named by the engine, sent by others, so that their times are not identifiable`
      : `${took.answered} of ${took.requests ?? 0} answered`,
    ...openText(took),
    ...(took.joined === undefined ? [] : [`${took.joined} joined to the engine's own by their names`]),
    ...(took.others ? [`${took.others} more named by the engine`] : []),
    ...sharesText("first token", took.ttft_ms, ms),
    ...sharesText("of which waited", took.wait_ms, ms),
    ...sharesText("between tokens", took.token_gap_ms, ms),
    ...(took.bunched === undefined
      ? []
      : [`between tokens of ${formatCount(took.bunched)} not identifiable, as several came at once`]),
    ...promptsText(took),
    ...answersText(took),
    ...sharesText("KV of a request", took.kv_bytes, formatBytes),
    ...sharesText("which was needed for", took.retention_ms ?? null, ms),
  ].join("; ");
}

/** How many requests were answered, and when their first tokens came, in one line; null where nobody asked for it. */
export function requestsInShort({ requests: took }: RunReport): string | null {
  if (took === undefined || took === null || took.why !== null) return null;
  if (took.answered === null)
    return [`${took.requests ?? 0} named by the engine, sent by others`, ...openText(took)].join(", ");
  const first = sharesText("first token", took.ttft_ms, (value) => formatNs(value * 1e6));
  return [`${took.answered} of ${took.requests ?? 0} answered`, ...first].join(", ");
}
