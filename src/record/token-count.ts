/** Tokens of a run, counted from the engine's steps as they pass. */
import { type Batch, type ColumnData, isStringColumn } from "../columnar/batch.ts";
import { bigintAt, numberAt, textAt } from "../columnar/cell.ts";
import {
  contextOf,
  draftedBy,
  hasPlacedNothing,
  keptGuesses,
  mixesTokens,
  promptSequences,
  repeatsSteps,
  surelyTaken,
} from "../schema/step-detail.ts";
import { decodedBeside } from "./decoded-beside.ts";
import { createFirstPrompt } from "./first-prompt.ts";

export interface TokenCount {
  /** Looks at a batch of the step table. */
  take(batch: Batch): void;
  /** Tokens of sequences of which a batch has more than one or the first, and of batches that are encoded; null before any. */
  readonly prompt_tokens: number | null;
  /**
   * Tokens that are the next one of a sequence, those beside a prompt in its batch too, as far as the engine tells them; of the guesses of a
   * draft those that stayed in the cache. What a draft model computes to guess counts nowhere, once it is known to be one, nor do steps of a
   * process that another one makes too.
   */
  readonly decode_tokens: number;
  /** Those of them that were decoded beside a prompt in their batch. */
  readonly beside_tokens: number;
  /**
   * Decoded tokens per second of wall time while a process generates, as engines count them: from the end of a prompt, or the first token where
   * there is none, to the end of the last token behind it, prompts of others in the batches of these tokens included; null before two.
   */
  readonly decode_tokens_per_s: number | null;
  /** Tokens of batches without a prompt per second inside the calls that decode them: what is done between the calls is left out. */
  readonly decode_call_tokens_per_s: number | null;
  /** From the start of the first prompt to the end of its last batch, trials of the engine left out; null before its first one ended. */
  readonly ttft_ms: number | null;
  /** From the begin of the first call that decoded tokens to the end of the last one, by process. */
  readonly decoding: ReadonlyMap<number, { readonly begin_ns: number; readonly end_ns: number }>;
  /** Calls whose batch could not be read, or was given up in its midst: their tokens are not counted. */
  readonly unread_calls: number;
  /** An engine does not tell apart what its batches decode, what is of prompts, and what is guessed: nothing is known of their tokens. */
  readonly mixes: boolean;
  /** Graphs that were computed where no call that decodes was seen; 0 once there was one. */
  readonly uncalled_graphs: number;
  /** What the target does now, in a word. */
  readonly phase: string;
}

/** Tokens as the facts of a run tell them. */
export interface TokenFacts {
  readonly prompt_tokens: number | null;
  readonly decode_tokens: number | null;
  readonly prompt_tokens_at_least: number | null;
  readonly decode_tokens_at_least: number | null;
  /** Missing where there are none, and where they are not known. */
  readonly decode_tokens_beside_prompts?: number;
  readonly decode_tokens_per_s: number | null;
  readonly decode_call_tokens_per_s: number | null;
  readonly ttft_ms: number | null;
}

/**
 * What may be said of the tokens: numbers where every call was seen and read, else what there were at least, and
 * neither rate nor time, for which nobody knows what was missed.
 * @param lost whether records of the engine were lost
 */
export function tokenFacts(tokens: TokenCount, lost: boolean): TokenFacts {
  const prompt = tokens.prompt_tokens;
  const decoded = tokens.decode_tokens || null;
  const isWhole = !lost && tokens.unread_calls === 0 && !tokens.mixes;
  return {
    prompt_tokens: isWhole ? prompt : null,
    decode_tokens: isWhole ? decoded : null,
    prompt_tokens_at_least: isWhole || tokens.mixes ? null : prompt,
    decode_tokens_at_least: isWhole || tokens.mixes ? null : decoded,
    ...(isWhole && tokens.beside_tokens > 0 ? { decode_tokens_beside_prompts: tokens.beside_tokens } : {}),
    decode_tokens_per_s: isWhole ? tokens.decode_tokens_per_s : null,
    decode_call_tokens_per_s: isWhole ? tokens.decode_call_tokens_per_s : null,
    ttft_ms: isWhole ? tokens.ttft_ms : null,
  };
}

/** Tokens of a trial, at most: llama.cpp warms up with two, and tries with two whether its cache forgets a part. */
const TRIAL_TOKENS = 2;

/** Sequences of a batch; one where they are not known. */
function sequencesAt(column: ColumnData | undefined, row: number): number {
  if (column === undefined || isStringColumn(column) || column.valid?.[row] === 0) return 1;
  return Math.max(1, Number(column.data[row] ?? 1));
}

/** Tokens of one context. */
interface Sums {
  readonly pid: number;
  prompt: number;
  decoded: number;
  beside: number;
  call_ns: number;
  /** Whether its last batch had a prompt. */
  isBesidePrompt: boolean;
}

export function createTokenCount(): TokenCount {
  const contexts = new Map<string, Sums>();
  /** Contexts of draft models: their tokens are guesses of what others decode. */
  const guessing = new Set<string>();
  /** Processes that make the steps of another one too. */
  const repeating = new Set<number>();
  const wall_ns = new Map<number, number>();
  /** Where the last token, or the prompt, of each process ended. */
  const reached_ns = new Map<number, bigint>();
  const decoding = new Map<number, { readonly begin_ns: number; end_ns: number }>();
  const first = createFirstPrompt();
  /** Processes that made a context and computed nothing but trials since. */
  const fresh = new Set<number>();
  /** What may be a trial, as long as its process computed nothing behind it. */
  let trial: { readonly pid: number; readonly sums: Sums; readonly tokens: number; readonly isFirst: boolean } | null =
    null;
  let unread = 0;
  let mixes = false;
  let graphs = 0;
  let calls = 0;
  let phase = "running";
  const sumsOf = (pid: number, context: string | null): Sums => {
    const key = `${pid}/${context}`;
    const sums = contexts.get(key) ?? { pid, prompt: 0, decoded: 0, beside: 0, call_ns: 0, isBesidePrompt: false };
    contexts.set(key, sums);
    return sums;
  };
  /** False of a process whose steps another one tells; where all are such, of all but the first. */
  function isCounted({ pid }: Pick<Sums, "pid">): boolean {
    if (!repeating.has(pid)) return true;
    const [first, ...others] = new Set(contexts.values().map((sums) => sums.pid));
    return first === pid && [first, ...others].every((one) => repeating.has(one));
  }
  const wallNs = (): number => wall_ns.entries().reduce((sum, [pid, ns]) => sum + (isCounted({ pid }) ? ns : 0), 0);
  const total = (name: "prompt" | "decoded" | "beside" | "call_ns"): number =>
    contexts.entries().reduce((sum, [key, sums]) => sum + (guessing.has(key) || !isCounted(sums) ? 0 : sums[name]), 0);
  const decodedInAll = (): number => total("decoded") + total("beside");
  return {
    take(batch) {
      const { kind, n_tokens, n_sequences, timestamp_ns, end_ns } = batch.columns;
      if (!kind || !isStringColumn(kind) || !n_tokens || isStringColumn(n_tokens)) return;
      if (!timestamp_ns || isStringColumn(timestamp_ns) || !end_ns || isStringColumn(end_ns)) return;
      for (let row = 0; row < batch.rows; row++) {
        const word = kind.values[kind.codes[row] ?? 0];
        if (word === "model_load" || word === "context") phase = "loading";
        if (word === "graph") graphs += 1;
        const pid = numberAt(batch.columns.pid, row) ?? 0;
        if (word === "context") {
          first.make(pid, bigintAt(batch.columns.result, row) ?? 0n);
          fresh.add(pid);
        }
        // Nobody reads what came of it: it was no prompt.
        if (word === "kv_clear" && pid === trial?.pid) {
          if (trial.isFirst) first.forget();
          trial.sums.prompt -= trial.tokens;
          trial = null;
        }
        if (word === "kv_trim") {
          const step = { detail: textAt(batch.columns.detail, row) };
          const sums = sumsOf(pid, contextOf(step));
          sums[sums.isBesidePrompt ? "beside" : "decoded"] += keptGuesses(step);
        }
        if (word === "engine" && repeatsSteps({ detail: textAt(batch.columns.detail, row) })) repeating.add(pid);
        if (word === "engine") mixes ||= mixesTokens({ detail: textAt(batch.columns.detail, row) });
        const encodes = word === "encode";
        if (word !== "decode" && !encodes) continue;
        calls += 1;
        const detail = textAt(batch.columns.detail, row);
        const [context, drafter] = [contextOf({ detail }), draftedBy({ detail })];
        if (drafter !== null) guessing.add(`${pid}/${drafter}`);
        if (guessing.has(`${pid}/${context}`)) continue;
        if (pid === trial?.pid) trial = null;
        if (end_ns.valid?.[row] === 0) continue;
        const result = numberAt(batch.columns.result, row) ?? 0;
        if (hasPlacedNothing(result)) continue;
        if (n_tokens.valid?.[row] === 0 || result !== 0) {
          unread += 1;
          continue;
        }
        const [began, ended] = [BigInt(timestamp_ns.data[row] ?? 0), BigInt(end_ns.data[row] ?? 0)];
        const sequences = sequencesAt(n_sequences, row);
        const all = Number(n_tokens.data[row] ?? 0);
        const tokens = surelyTaken(all, { detail });
        // One token of each of several sequences is a decode step too, where none of them is known to be of a prompt.
        const has_prompt = encodes || tokens > sequences || promptSequences({ detail }).length > 0;
        const decodes = !has_prompt || encodes ? 0 : Math.min(tokens - 1, decodedBeside(detail));
        const isShort = has_prompt && !encodes && tokens <= TRIAL_TOKENS;
        const isFirst = first.took_ns === null;
        const sums = sumsOf(pid, context);
        if (isShort && (isFirst || fresh.has(pid))) trial = { pid, sums, tokens: tokens - decodes, isFirst };
        if (!isShort) fresh.delete(pid);
        first.take({
          ...{ pid, begin_ns: began, end_ns: ended, n_tokens: all, n_sequences: sequences, has_prompt, detail },
          position_first: numberAt(batch.columns.position_first, row),
          sequence_id: numberAt(batch.columns.sequence_id, row),
        });
        sums.isBesidePrompt = has_prompt;
        if (has_prompt) {
          sums.beside += decodes;
          sums.prompt += tokens - decodes;
          phase = "prefill";
        } else {
          sums.decoded += tokens;
          sums.call_ns += Number(ended - began);
          const span = decoding.get(pid);
          if (span === undefined) decoding.set(pid, { begin_ns: Number(began), end_ns: Number(ended) });
          else span.end_ns = Number(ended);
          phase = "decoding";
        }
        if (!has_prompt || decodes > 0)
          wall_ns.set(pid, (wall_ns.get(pid) ?? 0) + Number(ended - (reached_ns.get(pid) ?? began)));
        reached_ns.set(pid, ended);
      }
    },
    get prompt_tokens() {
      const prompt = total("prompt");
      return prompt > 0 ? prompt : null;
    },
    get decode_tokens() {
      return decodedInAll();
    },
    get beside_tokens() {
      return total("beside");
    },
    get decode_tokens_per_s() {
      const decoded = decodedInAll();
      return decoded > 1 ? decoded / (wallNs() / 1e9) : null;
    },
    get decode_call_tokens_per_s() {
      const decoded = total("decoded");
      return decoded > 1 ? decoded / (total("call_ns") / 1e9) : null;
    },
    get ttft_ms() {
      return first.took_ns === null ? null : first.took_ns / 1e6;
    },
    decoding,
    get unread_calls() {
      return unread;
    },
    get mixes() {
      return mixes;
    },
    get uncalled_graphs() {
      return calls > 0 ? 0 : graphs;
    },
    get phase() {
      return phase;
    },
  };
}
