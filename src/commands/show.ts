/** `mrm-trace show`: what a finished run told, again. */
import { defineCommand } from "citty";
import { z } from "zod";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { parseOptions, runSchema } from "../config/schema.ts";
import { valueHints } from "../config/values.ts";
import { MrmTraceError } from "../errors.ts";
import { CLASS_WORDS, classNames, ofClass } from "../report/classes.ts";
import type { RunReport } from "../schema/run-json.ts";
import { printReport } from "./report-output.ts";

const schema = z.object({
  ...runSchema.pick({ table: true, json: true, color: true, debug: true }).shape,
  class: z
    .string()
    .optional()
    .describe("this class of data alone, such as weight, or a kind of mapping")
    .register(valueHints, { hint: "CLASS", words: CLASS_WORDS }),
});

/** The report with the rows of one class alone. @throws MrmTraceError usage, where the run has no such class */
function narrowed(report: RunReport, name: string | undefined): RunReport {
  if (name === undefined) return report;
  const names = classNames(report);
  if (names.includes(name)) return ofClass(report, name);
  throw new MrmTraceError("usage", `the run has no class "${name}"`, `give one of: ${names.join(", ")}`);
}

export const showCommand = defineCommand({
  meta: { name: "show", description: "Print what a finished run told, without deriving it again" },
  args: {
    run_dir: { type: "positional", description: "Folder of a run, such as results/MODEL/RUN_ID", required: true },
    ...flagsOf(schema),
  },
  async run({ args }) {
    const options = parseOptions(schema, givenOptions(schema, args));
    // Loaded on use: the tracer has the same entry point and must stay small.
    const { savedReport } = await import("../pipelines/saved-report.ts");
    const report = narrowed(savedReport(args.run_dir), options.class);
    return printReport(report, { ...options, quiet: false, stdoutIsTargets: false, isNew: false });
  },
});
