/** What a block of requests shows: of all clients together, and of each. */
import type { StreamedTokens } from "../client/token-stream.ts";
import type { ClientOfRun, FigureValues, RunTokens } from "../schema/observer-effect.ts";
import { quantile } from "../statistics/quantile.ts";
import type { ServedBlock } from "./served-block.ts";

/** The sum of what every answer tells; null where one does not. */
function sum(values: readonly (number | null | undefined)[]): number | null {
  if (values.length === 0) return null;
  return values.reduce<number | null>((all, value) => (all === null || value == null ? null : all + value), 0);
}

/** Tokens of an answer that came in a stretch of time. */
function tokensWithin({ first_token_ns, gaps_ms }: StreamedTokens, from_ns: bigint, to_ns: bigint): number {
  const [from_ms, to_ms] = [Number(from_ns - first_token_ns) / 1e6, Number(to_ns - first_token_ns) / 1e6];
  let came_ms = 0;
  let tokens = 0;
  for (const gap_ms of [0, ...gaps_ms]) {
    came_ms += gap_ms;
    if (came_ms >= from_ms && came_ms < to_ms) tokens += 1;
  }
  return tokens;
}

/** Times from one token to the next, of the answers whose events tell them. */
const tokenGaps = (answers: readonly StreamedTokens[]): number[] =>
  answers.flatMap(({ gaps_ms, is_each_timed }) => (is_each_timed ? gaps_ms : []));

/** Figures over all requests of the block; what it takes has a length of its own, so that its wall time says nothing. */
export function servedFigures({ clients, began_ns, over_ns }: ServedBlock): Partial<FigureValues> {
  const answers = clients.flat();
  const gaps = answers.flatMap(({ gaps_ms }) => gaps_ms);
  const total_ms = gaps.reduce((all, gap) => all + gap, 0);
  const block_s = Number(over_ns - began_ns) / 1e9;
  const served = answers.reduce((all, answer) => all + tokensWithin(answer, began_ns, over_ns), 0);
  const [output, output_ns] = [
    sum(answers.map(({ counts }) => counts?.output_tokens)),
    sum(answers.map(({ counts }) => counts?.output_ns)),
  ];
  return {
    tokens_per_s: total_ms > 0 ? gaps.length / (total_ms / 1000) : null,
    served_tokens_per_s: block_s > 0 && served > 0 ? served / block_s : null,
    engine_tokens_per_s: output !== null && output_ns !== null && output_ns > 0 ? (output * 1e9) / output_ns : null,
    ttft_ms: quantile(
      answers.map(({ ttft_ms }) => ttft_ms),
      0.5,
    ),
    token_p50_ms: quantile(tokenGaps(answers), 0.5),
    token_p99_ms: quantile(tokenGaps(answers), 0.99),
    wall_s: null,
  };
}

export function servedTokens({ clients }: ServedBlock): RunTokens {
  const answers = clients.flat();
  return {
    streamed_tokens: answers.reduce((all, { tokens }) => all + tokens, 0),
    engine_tokens: sum(answers.map(({ counts }) => counts?.output_tokens)),
    engine_prompt_tokens: sum(answers.map(({ counts }) => counts?.evaluated_tokens)),
  };
}

/** The same of each client: a server may leave one waiting for the others. */
export function figuresByClient({ clients }: ServedBlock): ClientOfRun[] {
  return clients.map((answers) => {
    const gaps = tokenGaps(answers);
    return {
      requests: answers.length,
      streamed_tokens: answers.reduce((all, { tokens }) => all + tokens, 0),
      ttft_ms: quantile(
        answers.map(({ ttft_ms }) => ttft_ms),
        0.5,
      ),
      token_p50_ms: quantile(gaps, 0.5),
      token_p99_ms: quantile(gaps, 0.99),
    };
  });
}
