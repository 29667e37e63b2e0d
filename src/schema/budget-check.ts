/** What `mrm-trace check --json` prints. */
import { z } from "zod";
import { wordsOf } from "./row.ts";
import { figure } from "./run-json.ts";

/** `within` and `beyond` hold for the whole interval; `open` where it holds the limit, or nothing is known. */
export const BUDGET_VERDICTS = ["within", "beyond", "open"] as const;
export type BudgetVerdict = (typeof BUDGET_VERDICTS)[number];

const verdict = z.enum(BUDGET_VERDICTS);
const text = z.string().nullable();

export const budgetCheckSchema = z.object({
  schema_version: z.string(),
  run_dir: z.string(),
  run_id: z.string(),
  budget: z.string(),
  name: z.string(),
  checks: z
    .array(
      z.object({
        /** The key of the budget: `validity`, `lost`, `tracer.cpu`, or the name of a metric. */
        what: z.string(),
        class: text,
        /** Of the figure that was judged: which steps, which phase, which source. */
        step: text,
        phase: text,
        source: text,
        unit: z.string(),
        min: figure,
        max: figure,
        /** Labels that it may have; null of what has none. */
        is: z.array(z.string()).readonly().nullable(),
        label: text,
        value: figure,
        lo: figure,
        hi: figure,
        status: z.enum(wordsOf("metrics", "status")),
        why: text,
        verdict,
        /** Line of the budget on which the limit stands. */
        line: z.int().min(1),
      }),
    )
    .readonly(),
  verdict,
  exit_code: z.int().min(0),
});

export type BudgetCheck = z.output<typeof budgetCheckSchema>;
export type CheckedLimit = BudgetCheck["checks"][number];
