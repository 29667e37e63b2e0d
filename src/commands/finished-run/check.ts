/** `mrm-trace check`: whether a finished run keeps a budget. */
import { defineCommand } from "citty";
import { z } from "zod";
import { readBudget } from "../../config/budget-file.ts";
import { flagsOf, givenOptions } from "../../config/flags.ts";
import { parseOptions, runSchema } from "../../config/schema.ts";
import { valueHints } from "../../config/values.ts";
import { MrmTraceError } from "../../errors.ts";
import { terminalOf } from "../../report/terminal.ts";
import { toJson } from "../../schema/run-json.ts";
import { writeResult } from "./write-result.ts";

const schema = z.object({
  against: z.string().optional().describe("YAML file of the budget").register(valueHints, { hint: "FILE" }),
  junit: z
    .string()
    .min(1)
    .optional()
    .describe("write JUnit XML to this file too")
    .register(valueHints, { hint: "FILE" }),
  github: z.boolean().default(false).describe("print annotations for GitHub's runner in place of the table"),
  ...runSchema.pick({ json: true, quiet: true, color: true, debug: true }).shape,
});

export const checkCommand = defineCommand({
  meta: { name: "check", description: "Hold a run against a budget: exit code 5 beyond, 4 where open" },
  args: {
    run_dir: { type: "positional", description: "Folder of a run, such as results/MODEL/RUN_ID", required: true },
    ...flagsOf(schema),
  },
  async run({ args }) {
    const options = parseOptions(schema, givenOptions(schema, args));
    const { against, junit, github, json, quiet, color } = options;
    if (against === undefined) {
      throw new MrmTraceError("usage", "no budget was named", "name it: mrm-trace check RUN_DIR --against budget.yaml");
    }
    if (github && json)
      throw new MrmTraceError("usage", "--github and --json print different things", "leave one of them out");
    const budget = readBudget(against);
    // Loaded on use: every command has the same entry point.
    const { savedReport } = await import("../../pipelines/saved-report.ts");
    const { checkRun } = await import("../../budget/check-run.ts");
    const check = checkRun(savedReport(args.run_dir), budget, against);
    if (junit !== undefined) {
      const { junitXml } = await import("../../budget/junit.ts");
      // Servers that build software name the same file each time, as with other programs that write JUnit's XML.
      writeResult(junit, junitXml(check), "--junit", true);
    }
    const { renderCheck } = await import("../../budget/table.ts");
    const { annotations } = await import("../../budget/annotations.ts");
    const draw = (): string => renderCheck(check, terminalOf(process.stdout, color, process.env));
    if (json) process.stdout.write(`${toJson(check)}\n`);
    else if (github) process.stdout.write(annotations(check));
    else if (!quiet) process.stdout.write(draw());
    return check.exit_code;
  },
});
