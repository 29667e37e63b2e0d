/** THE schema of a described world: memory and how it is used, for `mrm-trace simulate`. */
import { z } from "zod";
import { REGION_TYPES, type RegionType } from "../schema/words.ts";
import { formatCount, formatNs } from "../units.ts";
import { duration, numeric, size, whole } from "./values.ts";

/** A simulated run takes 7 ms to 0.9 s for each of its seconds, by how often words are used. */
export const MOST_RUN_S = 600;
export const MOST_BUDGET_PCT = 50;
const MOST_BYTES = 2 ** 40;
const LEAST_RUN_S = 1;
const MOST_STRATA = 16;
/** Of all strata in a run: each is memory of its own, which the policy is told of. */
const MOST_BLOCKS = 10_000;
/** Where so many come at random moments in the mean, next to no run has none. */
const LEAST_RANDOM_BLOCKS = 8;
const LONGEST_NS = 86_400e9;
const SHORTEST_LIFE_NS = 1e6;

const WORD_BYTES = 8;
/** Less than this share of the bytes may be missing in a world. */
export const MOST_CUT = 0.01;

function wordsAround(bytes: number): string {
  const least = Math.floor(bytes / WORD_BYTES) * WORD_BYTES;
  return `${least} or ${least + WORD_BYTES}`;
}

/** Accesses are at whole ns. */
const ROUNDING_NS = 0.5;

/** As it is shown, with three digits: rounded down it is not too much, rounded up not too little. */
function shown(value: number, round: (value: number) => number): number {
  const digit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return round(value / digit) * digit;
}

/** ns; text with its unit, or a number of seconds. */
const time = z.preprocess((value: number | string) => (typeof value === "number" ? value * 1e9 : value), duration);

const CLASSES = Object.keys(REGION_TYPES) as [RegionType, ...RegionType[]];

const hotSchema = z.strictObject({
  share: numeric(z.number().min(0.005).max(0.5)).describe("share of the words that are hot"),
  times: numeric(z.number().min(1).max(1e6)).describe("how much more often a hot word is used than another"),
});

const blocksSchema = z.strictObject({
  every: time.describe("a new block comes once in this time; where it is `token`, with each token"),
  life: time.describe("how long a block is there, until it is freed; where that is longer than `every`, several are"),
  uneven: numeric(z.number().min(0).max(0.9))
    .default(0)
    .describe("share by which a life, or the time to the next block, may be longer or shorter, at random"),
  reuse: z
    .boolean()
    .default(true)
    .describe("a block lies at addresses that were freed, where there are such; false: at new ones"),
});

const BY_CHANCE = ["moments", "writes", "blocks"] as const;

const stratumSchema = z.strictObject({
  name: z.string().trim().min(1).max(100).optional().describe("what the tracer would call it, such as weight/q8_0"),
  class: z.enum(CLASSES).describe("what the bytes are for"),
  bytes: size.describe(
    "how large it is, or each of its blocks, such as 110MiB; to 1 %, as all of it repeats some words of 8 bytes",
  ),
  period: time.describe("how often a word is used: once in this time; in a block from its begin on"),
  uneven: numeric(z.number().min(0).max(0.9))
    .default(0)
    .describe("share by which a period may be longer or shorter, at random"),
  touches: whole(1, 1000).default(1).describe("accesses to a word in each period"),
  spacing: time.optional().describe("time between the accesses of a period; default: all over the period"),
  writes: numeric(z.number().min(0).max(1))
    .default(0)
    .describe("share of the accesses that write: 0.25 is every fourth, from the first of a period, or of a block, on"),
  blocks: blocksSchema.optional().describe("its memory comes and goes; default: it is there in the whole run"),
  fills: time
    .optional()
    .describe(
      "its words come into use one after the other in so long, as a cache fills, the first access to each a write; full, it begins anew as empty. A block fills once, from its begin on",
    ),
  from: time.optional().describe("it is used from this moment of the run on; default: from its begin"),
  until: time.optional().describe("it is used until this moment of the run; default: to its end"),
  hot: hotSchema.optional().describe("some words are used more often"),
  sigma: numeric(z.number().min(0).max(3))
    .default(0)
    .describe("how unlike the words are: sigma of their periods, which are lognormal around `period`"),
  pareto: numeric(z.number().min(0.5).max(10))
    .optional()
    .describe("few words are used very often: x times as often as in `period`, or more, x^-pareto of them are"),
  random: z
    .array(z.enum(BY_CHANCE))
    .default([])
    .describe(
      "what is left to chance, not by tokens: moments: a word is used at any moment, once in `period` in the mean; writes: any access may write; blocks: they come at any moment and live for any time",
    ),
});

export type DescribedStratum = z.output<typeof stratumSchema>;
export type DescribedBlocks = z.output<typeof blocksSchema>;

/** Refuses what no block can be. @param most blocks of the stratum that there may be in `time_ns` */
function refuseBlocks(
  { blocks, random, from }: DescribedStratum & { readonly blocks: DescribedBlocks },
  time_ns: number,
  most: number,
  place: readonly PropertyKey[],
  refuse: (path: PropertyKey[], message: string) => void,
): void {
  const { every, life, uneven } = blocks;
  const times = Object.entries({ every, life });
  const wrong = times.filter(([, value]) => value < SHORTEST_LIFE_NS || value > LONGEST_NS);
  for (const [key] of wrong) refuse([...place, "blocks", key], "1ms to 1d expected");
  if (wrong.length > 0 || time_ns <= 0) return;
  // Those that came before the run may be there in it, but none comes before the moment from which they are used on.
  const before = from === undefined ? life : 0;
  const longest = random.includes("blocks")
    ? (time_ns + before) / LEAST_RANDOM_BLOCKS
    : Math.max(time_ns, before * (1 - uneven)) / (1 + uneven);
  if (every > longest) {
    const most_ns = formatNs(shown(longest, Math.floor));
    refuse([...place, "blocks", "every"], `at most ${most_ns} expected, or a run may have no block`);
  }
  const shortest = (time_ns + before * (1 + uneven)) / most;
  if (every < shortest) {
    const tooMany = `at least ${formatNs(shown(shortest, Math.ceil))} expected, or there would be more than ${formatCount(most)} blocks`;
    const shared =
      most === MOST_BLOCKS ? "" : `, as ${formatCount(MOST_BLOCKS)} are shared by the strata that have blocks`;
    refuse([...place, "blocks", "every"], tooMany + shared);
  }
}

/** Refuses what is of no use beside what is left to chance. */
function refuseChance(
  { random, blocks, uneven, touches, spacing, writes }: DescribedStratum,
  place: readonly PropertyKey[],
  refuse: (path: PropertyKey[], message: string) => void,
): void {
  const isRandom = (what: (typeof BY_CHANCE)[number]): boolean => random.includes(what);
  if (isRandom("moments") && uneven > 0) refuse([...place, "uneven"], "0 expected beside random moments");
  if (isRandom("moments") && touches > 1 && spacing === undefined)
    refuse([...place, "touches"], "1 expected, or spacing: uses at random moments have no length by themselves");
  if (isRandom("writes") && writes === 0) refuse([...place, "random"], "writes expected for random writes");
  if (isRandom("blocks") && blocks === undefined) refuse([...place, "random"], "blocks expected for random blocks");
  if (isRandom("blocks") && blocks !== undefined && blocks.uneven > 0)
    refuse([...place, "blocks", "uneven"], "0 expected beside random blocks");
}

export const worldSchema = z
  .strictObject({
    name: z.string().trim().min(1).max(200).default("described world").describe("what it is"),
    run: time.default(30e9).describe(`how long it is traced, from ${LEAST_RUN_S}s to ${MOST_RUN_S}s`),
    budget: numeric(z.number().min(0.01).max(MOST_BUDGET_PCT))
      .default(1)
      .describe("as --budget, in percent of each CPU"),
    trap: time.default(16_000).describe("what one trap costs, as doctor measures it"),
    retarget: time.default(60_000).describe("what arming and ending a watch costs, as doctor measures it"),
    token: time
      .optional()
      .describe("what a token takes, where an engine tells it: strata with this period go by its steps"),
    tensors: z
      .boolean()
      .default(false)
      .describe(
        "an engine names the tensors in which the memory lies: their bytes are used alike, so that fewer watches tell of all",
      ),
    busy: time.optional().describe("the work goes on for so long, then rests for `idle`; default: it goes on"),
    idle: time.optional().describe("how long it rests after `busy`"),
    strata: z.array(stratumSchema).min(1).max(MOST_STRATA).describe("parts of the memory, each used in its own way"),
  })
  .superRefine(({ run, busy, idle, trap, retarget, token, strata }, context) => {
    const refuse = (path: PropertyKey[], message: string) => context.addIssue({ code: "custom", path, message });
    if (run < LEAST_RUN_S * 1e9 || run > MOST_RUN_S * 1e9)
      refuse(["run"], `${LEAST_RUN_S}s to ${MOST_RUN_S}s expected`);
    if (busy === undefined && idle !== undefined) refuse(["busy"], "expected beside idle");
    if (busy !== undefined && idle === undefined) refuse(["idle"], "expected beside busy");
    for (const [key, value] of Object.entries({ busy, idle, token })) {
      if (value !== undefined && (value < 1e6 || value > LONGEST_NS)) refuse([key], "1ms to 1d expected");
    }
    for (const [key, value] of Object.entries({ trap, retarget })) {
      if (value < 100 || value > 1e7) refuse([key], "100ns to 10ms expected");
    }
    const names = strata.map(nameOfStratum);
    const most = MOST_BLOCKS / strata.filter(({ blocks }) => blocks !== undefined).length;
    strata.forEach((stratum, i) => {
      const { bytes, period, touches, spacing } = stratum;
      const uneven = unevenOf({ token, strata }, stratum);
      const place = ["strata", i];
      if (names.indexOf(names[i] ?? "") !== i) refuse([...place, "name"], "another stratum has this name");
      if (bytes < 8 || bytes > MOST_BYTES) refuse([...place, "bytes"], "8B to 1TiB expected");
      else if (bytes % WORD_BYTES > MOST_CUT * bytes)
        refuse([...place, "bytes"], `whole words of 8 bytes expected, such as ${wordsAround(bytes)} B`);
      if (period < 20_000 || period > LONGEST_NS) refuse([...place, "period"], "20us to 1d expected");
      const { from, until = run } = stratum;
      if (until > run) refuse([...place, "until"], `at most the run, ${formatNs(run)}, expected`);
      else if (from !== undefined && from >= until)
        refuse([...place, "from"], `less than the end, ${formatNs(until)}, expected`);
      const { blocks } = stratum;
      if (blocks !== undefined) refuseBlocks({ ...stratum, blocks }, until - (from ?? 0), most, place, refuse);
      const { fills } = stratum;
      if (fills !== undefined && (fills < 1e6 || fills > LONGEST_NS)) refuse([...place, "fills"], "1ms to 1d expected");
      refuseChance(stratum, place, refuse);
      const shortest = period * (1 - uneven);
      if (spacing !== undefined && (touches - 1) * spacing > shortest + ROUNDING_NS) {
        const most = formatNs(shown((shortest + ROUNDING_NS) / (touches - 1), Math.floor));
        const fitting = `${touches} accesses fit into the shortest period, ${formatNs(shortest)}`;
        refuse([...place, "spacing"], `${fitting}, if they are at most ${most} apart`);
      }
    });
  });

export type DescribedWorld = z.output<typeof worldSchema>;

/** What the tracer would call a stratum. */
export function nameOfStratum({ name, class: region_type }: DescribedStratum): string {
  return name ?? region_type;
}

/** How uneven the periods of a stratum are: those that are tokens are all as uneven as the most uneven of them. */
export function unevenOf(
  { token, strata }: Pick<DescribedWorld, "strata" | "token">,
  { period, uneven, random }: Pick<DescribedStratum, "period" | "uneven" | "random">,
): number {
  if (period !== token || random.includes("moments")) return uneven;
  return Math.max(0, ...strata.filter((stratum) => stratum.period === token).map((stratum) => stratum.uneven));
}
