/** What llama-cycles.c writes down of the nodes of its graphs: which memory each goes over, and when. */

import type { StepSample } from "../../../src/analyse/input/input.ts";
import { type Span, spansOf } from "../../../src/analyse/input/span.ts";
import { reuseBands } from "../../../src/collect/ebpf/watch/frame/reuse-bands.ts";
import { OP } from "../../../src/schema/operation.ts";
import type { RegionType } from "../../../src/schema/words.ts";
import { truthOf, truthOfSteps } from "../../../src/simulate/reference.ts";
import type { Truth } from "../../../src/simulate/true-quantiles.ts";
import type { WordTrace, World, WorldStratum } from "../../../src/simulate/world.ts";

/** As in the program. */
const [SHAPE, NODE, STEP] = [1, 2, 3];
const CLASSES: readonly RegionType[] = ["weight", "kv_cache", "activation"];
const [READ, WRITTEN] = [1, 2];
const HASH_UNIT = 256;
const WORD_BYTES = 8;

interface Range {
  readonly from: number;
  readonly end: number;
  readonly region_type: RegionType;
  /** Of its tensor: two of one name have one. */
  readonly hash: number;
  /** OP of what a node does to each of its words. */
  readonly op: number;
}

export interface LoggedStep {
  readonly begin_ns: number;
  readonly end_ns: number;
  readonly tokens: number;
}

export interface NodeLog {
  /** By number. */
  readonly shapes: readonly (readonly Range[])[];
  /** In order of their begins; times as ns of the clock of the program. */
  readonly nodes: readonly (readonly [begin_ns: number, end_ns: number, shape: number])[];
  readonly steps: readonly LoggedStep[];
}

const opOf = (what: number): number =>
  (what & READ) > 0 ? ((what & WRITTEN) > 0 ? OP.load_store : OP.load) : OP.store;

/** @param log as the program left it, with zeros behind its end */
export function nodeLogOf(log: Uint8Array): NodeLog {
  const words = new BigUint64Array(log.buffer, log.byteOffset, log.byteLength >> 3);
  const number = (i: number): number => Number(words[i] ?? 0n);
  const shapes: Range[][] = [];
  const nodes: [number, number, number][] = [];
  const steps: LoggedStep[] = [];
  for (let at = 0; number(at) > 0; at += number(at)) {
    const kind = number(at + 1);
    if (kind === NODE) nodes.push([number(at + 2), number(at + 3), number(at + 4)]);
    if (kind === STEP) steps.push({ begin_ns: number(at + 2), end_ns: number(at + 3), tokens: number(at + 4) });
    if (kind !== SHAPE) continue;
    const ranges: Range[] = [];
    for (let i = at + 3; i < at + number(at); i += 3) {
      const [hash, what] = [Math.floor(number(i + 2) / HASH_UNIT), number(i + 2) % HASH_UNIT];
      const from = Math.floor(number(i) / WORD_BYTES) * WORD_BYTES;
      const end = Math.ceil((number(i) + number(i + 1)) / WORD_BYTES) * WORD_BYTES;
      ranges.push({ from, end, region_type: CLASSES[what >> 2] ?? "unknown", hash, op: opOf(what & 3) });
    }
    shapes[number(at + 2)] = ranges;
  }
  return { shapes, nodes: nodes.sort((a, b) => a[0] - b[0]), steps };
}

/** When in a node a word is read, and when it is written: 0 is its begin, 1 its end. */
export type Moment = readonly [read: number, written: number];

/** Where nodes take long beside a pause between passes, it matters when: what is true of all of these is true. */
export const MOMENTS: readonly Moment[] = [
  [0, 0],
  [1, 1],
  [0, 1],
  [1, 0],
  [0.5, 0.5],
];

/**
 * The words of a class as traces, those that are touched alike as one.
 * @param origin_ns time that is 0
 */
export function nodeStrata(log: NodeLog, type: RegionType, origin_ns: number, [read, written]: Moment): WorldStratum[] {
  const mine = log.shapes.map((ranges) => ranges.filter(({ region_type }) => region_type === type));
  const drawnFrom = strataOf(log, type);
  const bounds = [...new Set(mine.flat().flatMap(({ from, end }) => [from, end]))].sort((a, b) => a - b);
  const pieceOf = new Map(bounds.map((bound, i) => [bound, i]));
  const traces = bounds.map(() => ({ time_ns: [] as number[], op: [] as number[] }));
  // What a shape does to each piece, once.
  const touches = mine.map((ranges) => {
    const ops = new Map<number, number>();
    for (const { from, end, op } of ranges) {
      for (let piece = pieceOf.get(from) ?? 0; piece < (pieceOf.get(end) ?? 0); piece++) {
        const before = ops.get(piece);
        ops.set(piece, before === undefined || before === op ? op : OP.load_store);
      }
    }
    return [...ops];
  });
  for (const [begin, end, shape] of log.nodes) {
    for (const [piece, op] of touches[shape] ?? []) {
      const share = op === OP.load ? read : written;
      traces[piece]?.time_ns.push(begin - origin_ns + share * (end - begin));
      traces[piece]?.op.push(op);
    }
  }
  return traces.flatMap(({ time_ns, op }, i) => {
    if (time_ns.length === 0) return [];
    const word: WordTrace = { time_ns: Float64Array.from(time_ns), op: Uint8Array.from(op) };
    const [from = 0, end = 0] = bounds.slice(i, i + 2);
    return [{ ...drawnFrom(from), region_type: type, words: [word], repeats: (end - from) / WORD_BYTES }];
  });
}

/** From which stratum a word of a class is drawn, as the product has it: its address is enough. */
function strataOf({ shapes }: NodeLog, type: RegionType): (address: number) => Pick<WorldStratum, "stratum" | "turns"> {
  if (type !== "activation") return () => ({ stratum: type });
  const tensors = shapes.flatMap((ranges) =>
    ranges
      .filter(({ region_type, op }) => region_type === type && op !== OP.load)
      .map(({ from, end, hash }) => ({ from: BigInt(from), to: BigInt(end), name: String(hash) })),
  );
  const pieces = reuseBands(tensors);
  return (address) => {
    const { stratum, turns } = pieces.findLast(({ from }) => from <= address) ?? { stratum: type, turns: 1 };
    return { stratum, turns };
  };
}

/** The steps; those of one token for each sequence decode. */
function stepSamples({ steps }: NodeLog, sequences: number, origin_ns: number): StepSample[] {
  return steps.map(({ begin_ns, end_ns, tokens }) => ({
    step: tokens > sequences ? "prefill" : "decode",
    begin_ns: begin_ns - origin_ns,
    end_ns: end_ns - origin_ns,
    n_tokens: tokens,
  }));
}

/** From the first step to the end of the last. */
function spanNs({ steps }: NodeLog): readonly [origin_ns: number, length_ns: number] {
  const origin = steps[0]?.begin_ns ?? 0;
  return [origin, (steps.at(-1)?.end_ns ?? origin) - origin];
}

/** From the begin of a decode step to that of the next, in the middle, as the engine tells it to the policy; null where there are not two. */
function tokenPeriodNs(steps: readonly StepSample[]): number | null {
  const begins = steps.filter(({ step }) => step === "decode").map(({ begin_ns }) => begin_ns);
  const periods = begins.slice(1).map((begin, i) => begin - (begins[i] ?? begin));
  return periods.sort((a, b) => a - b)[periods.length >> 1] ?? null;
}

/** The run as a world of which each word is touched in the middle of its nodes; llama.cpp names its tensors. */
export function nodeWorld(log: NodeLog, sequences: number): World {
  const [origin, run_ns] = spanNs(log);
  const strata = CLASSES.flatMap((type) => nodeStrata(log, type, origin, [0.5, 0.5]));
  const steps = stepSamples(log, sequences, origin);
  return { run_ns, token_period_ns: tokenPeriodNs(steps), steps, strata, is_named: true };
}

/** The decode steps, with the time between them. */
function decodeSpan(log: NodeLog, sequences: number, origin_ns: number): Span {
  const samples = stepSamples(log, sequences, origin_ns);
  const decode = spansOf(samples, samples.at(-1)?.end_ns ?? 0).find(({ step }) => step === "decode");
  if (decode === undefined) throw new Error("the program decoded nothing");
  return decode;
}

/** All that may be true: from the least to the most of several truths; null where one has none. */
function union(truths: readonly (Truth | null | undefined)[]): Truth | null {
  const known = truths.flatMap((truth) => truth ?? []);
  if (known.length < truths.length) return null;
  return { lo: Math.min(...known.map(({ lo }) => lo)), hi: Math.max(...known.map(({ hi }) => hi)) };
}

/** Figures of which nodes tell nothing: how many instructions touch a word. */
export const NOT_BY_NODES: ReadonlySet<string> = new Set(["hits_per_pass"]);

/**
 * What is true of a class, whenever in a node each of its words is touched.
 * @param gap_ns what separates passes
 * @returns by metric, of the generation, from its first step to the end of its last, and of its decode steps
 */
export function truthsOfNodes(log: NodeLog, type: RegionType, sequences: number, gap_ns: number) {
  const [origin, length] = spanNs(log);
  const span = decodeSpan(log, sequences, origin);
  const each = MOMENTS.map((moment) => {
    const strata = nodeStrata(log, type, origin, moment);
    return { generation: truthOf(strata, length, gap_ns), decode: truthOfSteps(strata, span, gap_ns) };
  });
  const together = (which: "generation" | "decode"): Map<string, Truth | null> =>
    new Map(
      [...(each[0]?.[which].keys() ?? [])]
        .filter((metric) => !NOT_BY_NODES.has(metric))
        .map((metric) => [metric, union(each.map((one) => one[which].get(metric)))]),
    );
  return { generation: together("generation"), decode: together("decode") };
}
