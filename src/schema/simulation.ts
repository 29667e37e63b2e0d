/** What `mrm-trace simulate` reports: what runs of a described world said, beside what is true in it. */
import { z } from "zod";
import { wordsOf } from "./row.ts";
import { REGION_TYPES, type RegionType } from "./words.ts";

const count = z.int().min(0);
const CLASSES = Object.keys(REGION_TYPES) as [RegionType, ...RegionType[]];
const STEPS = wordsOf("metrics", "step");
/** A quantile may be longer than the run. */
const end = z.number().nullable();

const simulatedFigure = z
  .object({
    region_type: z.enum(CLASSES),
    metric: z.string(),
    step: z.enum(STEPS).describe("`all`: of the whole run; `decode`: of the time in which tokens are decoded"),
    unit: z.string(),
    runs: count,
    ok: count.describe("runs that gave a value with its interval"),
    bound: count.describe("runs that gave a bound"),
    refused: count.describe("runs that said why they cannot tell"),
    truth: z
      .object({ lo: end, hi: end })
      .readonly()
      .nullable()
      .describe(
        "median over the runs, `lo` to `hi` where the definition leaves it open; an end of null is longer than the run; null: none",
      ),
    value: end.describe(
      "median over the runs with a value, as are the ends of its interval, lo and hi, and half_width_pct",
    ),
    lo: end,
    hi: end,
    half_width_pct: end.describe("half of the interval, in percent of the truth"),
    held: count.describe("of the runs with a value, those whose interval holds the truth"),
    bound_lo: end.describe("median over the runs with a bound, as is bound_hi"),
    bound_hi: end,
    right: count.describe("of the runs with a bound, those whose bound is true"),
    why: z
      .string()
      .nullable()
      .describe("the most frequent reason of the runs without a value, with the numbers of one of them"),
  })
  .readonly();
export type SimulatedFigure = z.output<typeof simulatedFigure>;

export const simulationSchema = z
  .object({
    schema_version: z.string(),
    world: z.string(),
    seeds: count.describe("runs, each of another seed"),
    first_seed: count.describe("seed of the first run; each of the others has the next"),
    run_s: z.number(),
    budget_pct: z.number(),
    figures: z.array(simulatedFigure).readonly(),
  })
  .readonly();
export type Simulation = z.output<typeof simulationSchema>;
