/** The requests that an engine names itself, by its steps: known without a client of ours, but for when they were sent. */
import type { KvTensor } from "../../label/kv/kv-lifecycle.ts";
import { type NamedSequences, namedSequences } from "../../label/kv/row-owners.ts";
import { runsOf } from "../../label/kv/step-runs.ts";
import { isBatch, type StepRow } from "../../label/timeline/step-row.ts";
import { NOTHING_KEPT, type RequestFigure } from "./request-figures.ts";
import { wholeRequests } from "./whole-requests.ts";

/** What steps worked on for one request. */
interface Worked {
  readonly name: string;
  prompt_tokens: number | null;
  /** False where it is pooled, so that no token is drawn behind its prompt. */
  generates: boolean;
  /** Of the first step: its begin, and the position of its first token. */
  readonly begin_ns: number;
  readonly position: number;
  /** True where the first step of the process had it: it may have begun before. */
  readonly isCut: boolean;
  sequence: number;
  /** Tokens that it had behind its last step, and that step's end. */
  tokens: number;
  end_ns: number;
  /** What it had in an earlier sequence, from which it was put off. */
  earlier: number;
  /** Its last step worked on guesses behind the token that was drawn before. */
  guesses: boolean;
}

/** In order of their first steps. */
function workedOn(steps: readonly StepRow[], named: NamedSequences): Worked[] {
  const found = new Map<string, Worked>();
  const batches = steps.filter(isBatch);
  for (const step of batches) {
    for (const { sequences, position, tokens } of runsOf(step) ?? []) {
      const [sequence = -1] = sequences;
      const name = named.nameOf(sequence);
      if (name === null) continue;
      const prompt_tokens = named.promptTokensOf(sequence);
      const isCut = step === batches[0] && position > 0;
      const request: Worked = found.get(name) ?? {
        ...{ name, prompt_tokens, begin_ns: step.begin_ns, position, isCut, sequence, tokens: 0, end_ns: step.end_ns },
        ...{ generates: named.generates(sequence), earlier: 0, guesses: false },
      };
      found.set(name, request);
      request.prompt_tokens ??= prompt_tokens;
      // One that was put off works on tokens again.
      if (request.sequence !== sequence) request.earlier = Math.max(request.earlier, request.tokens);
      request.sequence = sequence;
      request.end_ns = step.end_ns;
      // Guesses that were not taken are given up by the step behind them.
      request.tokens = position + tokens;
      request.guesses = tokens > 1 && request.prompt_tokens !== null && position >= request.prompt_tokens;
    }
  }
  return [...found.values()];
}

/** The processes, each with one engine, in which that names requests: their steps, and whose each sequence is. */
function namingProcesses(steps: readonly StepRow[]) {
  const processes = Map.groupBy(steps, ({ pid, engine }) => `${pid}/${engine ?? ""}`);
  return [...processes.values()].flatMap((ofProcess) => {
    const named = namedSequences(ofProcess);
    return named === null ? [] : [{ ofProcess, named }];
  });
}

/** One engine in one process, and what it worked on. */
interface Worker {
  readonly ofProcess: readonly StepRow[];
  readonly named: NamedSequences;
  readonly requests: readonly Worked[];
}

/** The processes by what they work on: those that name the same requests have a part of the model each, others have requests of their own. */
function workingTogether(steps: readonly StepRow[]): Worker[][] {
  let together: Worker[][] = [];
  for (const { ofProcess, named } of namingProcesses(steps)) {
    const worker = { ofProcess, named, requests: workedOn(ofProcess, named) };
    const names = new Set(worker.requests.map(({ name }) => name));
    const isMine = (group: Worker[]): boolean =>
      group.some(({ requests }) => requests.some(({ name }) => names.has(name)));
    const mine = together.filter(isMine);
    together = [...together.filter((group) => !isMine(group)), [...mine.flat(), worker]];
  }
  return together;
}

/** Sequences that the steps of a process worked on and that nobody named. */
function unnamedIn({ ofProcess, named }: Worker): number {
  const worked = ofProcess
    .filter(isBatch)
    .flatMap((step) => (runsOf(step) ?? []).flatMap(({ sequences }) => sequences));
  return new Set(worked.filter((sequence) => named.nameOf(sequence) === null)).size;
}

const UNTOLD = "its client is not ours: nobody says when it was sent";
const partText = (parts: number): string =>
  `it is one of ${parts} that the engine has of one request, as of its answers or beams, each with the prompt`;
const GUESSED = "its last step worked on guesses, and nobody says which of them were taken";

/** Tokens of an answer: the last of the prompt gives the first, and the last is never put in. */
function answerTokens({ prompt_tokens, generates }: Worked, tokens: number | null): number | null {
  if (!generates) return 0;
  return prompt_tokens === null || tokens === null ? null : Math.max(0, tokens - prompt_tokens + 1);
}

/**
 * What is told of one.
 * @param row_bytes of a token in all layers of the cache; null where that is not known
 * @param parts how many that the engine names are of the same request, this one too
 */
function figureOf(
  one: Worked,
  request_id: number,
  row_bytes: number | null,
  originNs: bigint,
  parts: number,
): RequestFigure {
  const { name, prompt_tokens, begin_ns, position, isCut, sequence, tokens: last, end_ns, earlier, guesses } = one;
  const wide = (count: number | null): bigint | null =>
    count === null || row_bytes === null ? null : BigInt(Math.round(count * row_bytes));
  const tokens = guesses ? null : Math.max(earlier, last);
  const isBegun = !isCut && prompt_tokens !== null && position < prompt_tokens;
  const reused_tokens = isBegun ? position : null;
  return {
    request_id,
    request: name,
    timestamp_ns: originNs + BigInt(Math.round(begin_ns)),
    status: "served",
    ...{ ttft_ns: null, wait_ns: null, token_gap_p50_ns: null, token_gap_p99_ns: null, token_gap_max_ns: null },
    generation_ns: Number.isFinite(end_ns) ? BigInt(Math.round(end_ns - begin_ns)) : null,
    prompt_tokens,
    evaluated_tokens: isBegun ? prompt_tokens - position : null,
    reused_tokens,
    output_tokens: answerTokens(one, tokens),
    ...{ output_ns: null, streamed_tokens: null },
    sequence_id: sequence,
    sequence_by: "engine",
    kv_bytes: wide(tokens),
    saved_bytes: wide(reused_tokens),
    ...NOTHING_KEPT,
    why: [UNTOLD, ...(guesses ? [GUESSED] : []), ...(parts > 1 ? [partText(parts)] : [])].join("; "),
  };
}

type CacheTensor = Pick<KvTensor, "pid" | "name" | "row_bytes">;

/** Of a token in all layers; null where there are none, and where a layer has several, as those of two models. */
function rowBytes(tensors: readonly CacheTensor[]): number | null {
  const names = tensors.flatMap(({ pid, name }) => (name === null ? [] : [`${pid}/${name}`]));
  const bytes = tensors.reduce((sum, { row_bytes }) => sum + row_bytes, 0);
  return new Set(names).size < names.length || bytes === 0 ? null : bytes;
}

export interface EngineRequests {
  readonly figures: RequestFigure[];
  /** The numbers of those that the engine did not say to have ended, up to the end of the recording: what is told of these is what they had by then. */
  readonly underWay: ReadonlySet<number>;
  /**
   * Sequences that steps worked on and that nobody named, in the process that has most of them of those that work together: of requests that
   * ended before they were read, or of another model than the one whose requests are read.
   */
  readonly unnamed: number;
}

/**
 * The figures of all requests that engines name; none where none does. Where several processes work on the same requests, each on
 * a part of the model, their rows are one request's.
 * @param tensors of the cache
 */
export function engineRequests(
  steps: readonly StepRow[],
  tensors: readonly CacheTensor[],
  originNs: bigint,
): EngineRequests {
  const together = workingTogether(steps);
  const all = together.flatMap((workers) => {
    const [first] = workers;
    const pids = new Set(workers.map(({ ofProcess }) => ofProcess[0]?.pid));
    const row_bytes = rowBytes(tensors.filter(({ pid }) => pids.has(pid)));
    const requests = first?.requests ?? [];
    return requests.map((one) => ({ one, row_bytes, isOpen: first?.named.isOver(one.sequence) !== true }));
  });
  all.sort((a, b) => a.one.begin_ns - b.one.begin_ns);
  const whole = wholeRequests(all.map(({ one }) => one.name));
  return {
    figures: all.map(({ one, row_bytes }, i) => figureOf(one, i + 1, row_bytes, originNs, whole.partsOf(one.name))),
    underWay: new Set(all.flatMap(({ isOpen }, i) => (isOpen ? [i + 1] : []))),
    unnamed: together.reduce((sum, workers) => sum + Math.max(...workers.map(unnamedIn)), 0),
  };
}
