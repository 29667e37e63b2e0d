/** The page of budgets: their keys, and how a figure is held against a limit. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { budgetSchema } from "./budget-schema.ts";
import { isMapping, keyRow } from "./config-pages.ts";
import { keysOf } from "./schema-keys.ts";

const EXAMPLE = fileURLToPath(new URL("../../config/budget.yaml", import.meta.url));

/** Text of docs/budget.md. */
export function budgetPage(): string {
  const rows = keysOf(budgetSchema)
    .filter(({ schema }) => !isMapping(schema))
    .map(keyRow);
  return [
    "<!-- Generated from src/config/budget-schema.ts; run `bun run generate`. -->",
    "# Budgets",
    "",
    "`mrm-trace check RUN_DIR --against budget.yaml` holds the saved figures of a finished run against limits, as a step of a build does",
    "that must not let them grow. Nothing is derived anew. `--json` prints one object (`mrm-trace schema check`), `--junit FILE` writes what",
    "servers that build software read, in the place of the file that is there, `--github` prints annotations that GitHub shows beside the line of the budget.",
    "",
    "A figure is held with its whole interval:",
    "",
    "| verdict | exit code | means |",
    "|---|---|---|",
    "| within | 0 | the whole interval keeps the limit |",
    "| beyond | 5 | the whole interval is on the other side of it, or a label is none of those that it may be |",
    "| open | 4 | the interval holds the limit, the bound that is known does not decide, or the run has no such figure; `why` says which |",
    "",
    "One that is beyond decides the exit code, then one that is open. 2 is for a budget that is not right: every problem is told",
    "with its line. In JUnit XML what is beyond is a failure and what is open an error.",
    "",
    "```yaml",
    readFileSync(EXAMPLE, "utf8").trim(),
    "```",
    "",
    "Limits are in the unit of the metric: bytes with a size (`200MiB`), bytes per second with a rate (`25.6GB/s`), ns with a duration (`5ms`),",
    "a ratio as a number or in percent, all else as a number. Metrics: [metrics.md](metrics.md). A metric of a class is that which `show` prints",
    "unless `step`, `phase` or `grain` say which. One that figures of the process have too is of the whole run where `class` is left out.",
    "",
    "| key | takes | default | meaning |",
    "|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}
