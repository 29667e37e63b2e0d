/** THE schema of a budget, for `mrm-trace check`: what the figures of a run may be at most, or must be at least. */
import { z } from "zod";
import { wordsOf } from "../schema/row.ts";
import { VALIDITY_CLASSES } from "../schema/run-json.ts";
import { size } from "./values.ts";

const PERCENT = "a number of percent expected, such as 5 or 5%";
const percent = z
  .union([z.number().min(0, PERCENT).max(1e6, PERCENT), z.string().regex(/^\s*\d+(\.\d+)?\s*%\s*$/, PERCENT)], {
    error: PERCENT,
  })
  .transform((given) => (typeof given === "number" ? given : Number(given.replace("%", ""))));

/** In the unit of the metric, which the schema does not know. */
const limit = z.union([z.number(), z.string().trim().min(1).max(100)], {
  error: "a number or text with its unit expected",
});

const metricSchema = z.strictObject({
  metric: z.string().trim().min(1).max(100).describe("name of a metric, as in docs/metrics.md"),
  class: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .optional()
    .describe("class of data, such as weight, or kind of mapping; left out for figures of the process"),
  step: z.enum(wordsOf("metrics", "step")).optional().describe("default: the one that show prints"),
  phase: z.enum(wordsOf("metrics", "phase")).optional().describe("default: the one that show prints"),
  grain: size.optional().describe("of metrics that have several, such as 4KiB"),
  max: limit.optional().describe("the most it may be, in its unit: 200MiB, 5ms, 0.01, 80%"),
  min: limit.optional().describe("the least it must be"),
  is: z.array(z.string().min(1)).min(1).max(20).optional().describe("labels that it may have, of a metric with labels"),
});

export const budgetSchema = z.strictObject({
  name: z.string().trim().min(1).max(200).default("budget").describe("what it is called in the answer"),
  validity: z.enum(VALIDITY_CLASSES).optional().describe("the worst class that is accepted"),
  lost: percent.optional().describe("most events lost, of any source, in percent"),
  tracer: z
    .strictObject({
      slowdown: percent.optional().describe("most that the traced process may be slowed down, in percent"),
      cpu: percent.optional().describe("most CPU time of the tracer, in percent of one CPU"),
      memory: size.optional().describe("most resident memory of the tracer"),
    })
    .default({})
    .describe("what watching may cost"),
  metrics: z.array(metricSchema).max(1000).default([]).describe("limits of figures"),
});

export type Budget = z.output<typeof budgetSchema>;
export type MetricLimit = Budget["metrics"][number];
