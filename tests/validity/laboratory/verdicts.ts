/** What memory suits by the definitions of docs/metrics.md, from every access of a world. */
import { truthOf } from "../../../src/simulate/reference.ts";
import type { Truth } from "../../../src/simulate/true-quantiles.ts";
import { isWrite } from "../../../src/simulate/word-times.ts";
import type { World, WorldStratum } from "../../../src/simulate/world.ts";
import { SECOND } from "./shapes.ts";

/** Of a label, the least share that is written once, and how long so much of it is kept at least. */
const LABELS = [
  { label: "high_mrm", once: 0.8, q: 0.99, least_ns: 10 * SECOND },
  { label: "medium_mrm", once: 0.5, q: 0.5, least_ns: SECOND },
] as const;
/** What is kept for as long as one looks is needed for that share of the look that the quantile names, less a tenth. */
const OF_THE_LOOK = 0.9;

const WORD_BYTES = 8;
const ALWAYS = [0, Number.POSITIVE_INFINITY] as const;

interface Kept {
  readonly once: Truth;
  /** How long it is kept, at a quantile; Infinity where that was not seen to end. */
  readonly time: (q: number) => Truth;
}

const bytesOf = ({ words, repeats = 1 }: WorldStratum): number => WORD_BYTES * words.length * repeats;

/** The lifetime that no less than the share q of the bytes does not exceed. */
function lifetime(strata: readonly WorldStratum[], runNs: number, q: number): Truth {
  const lives = strata.map((one) => {
    const [born, freed] = one.life_ns ?? ALWAYS;
    return { bytes: bytesOf(one), ns: freed < runNs ? freed - born : Number.POSITIVE_INFINITY };
  });
  const all = lives.reduce((sum, { bytes }) => sum + bytes, 0);
  const upTo = (most: number): number => lives.reduce((sum, { bytes, ns }) => (ns <= most ? sum + bytes : sum), 0);
  const reached = lives.sort((a, b) => a.ns - b.ns).find(({ ns }) => upTo(ns) >= q * all);
  const ns = reached?.ns ?? Number.POSITIVE_INFINITY;
  return { lo: ns, hi: ns };
}

const NEVER: Truth = { lo: Number.POSITIVE_INFINITY, hi: Number.POSITIVE_INFINITY };

/** What is only read was written before the run, and is kept as long as its memory. */
function keptOf(strata: readonly WorldStratum[], runNs: number, gapNs: number): Kept {
  const truth = truthOf(strata, runNs, gapNs, false);
  const once = truth.get("write_once_ratio") ?? null;
  if (once === null) return { once: { lo: 1, hi: 1 }, time: (q) => lifetime(strata, runNs, q) };
  return { once, time: (q) => truth.get(`retention_p${Math.round(100 * q)}_ns`) ?? NEVER };
}

/** The labels that are true of a class; two where what was not seen to end has one of its own. */
export function trueLabels({ strata, run_ns }: World, region_type: string, gapNs: number): string[] {
  const mine = strata.filter((one) => one.region_type === region_type);
  const { once, time } = keptOf(mine, run_ns, gapNs);
  const labels: string[] = [
    LABELS.find((rule) => once.lo >= rule.once && time(rule.q).lo >= rule.least_ns)?.label ?? "low_mrm",
  ];
  const isThroughout = LABELS.some(({ once: least, q }) => once.lo >= least && time(q).lo >= OF_THE_LOOK * q * run_ns);
  return isThroughout && time(0.5).lo === Number.POSITIVE_INFINITY ? [...labels, "kept_throughout"] : labels;
}

/** The share of the bytes of weights that nothing wrote in the run: loading them is the one write that each has. */
export function weightsWrittenOnce({ strata }: World): number {
  const weights = strata.filter(({ region_type }) => region_type === "weight");
  const share = (word: WorldStratum["words"][number]): number => (word.op.some(isWrite) ? 0 : 1);
  const once = weights.map(
    (one) => (bytesOf(one) * one.words.reduce((sum, word) => sum + share(word), 0)) / one.words.length,
  );
  return once.reduce((sum, bytes) => sum + bytes, 0) / weights.reduce((sum, one) => sum + bytesOf(one), 0);
}
