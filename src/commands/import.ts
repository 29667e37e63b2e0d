/** `mrm-trace import`: a file that another tool recorded becomes a run directory. */
import { defineCommand } from "citty";
import type { z } from "zod";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { parseOptions, runSchema } from "../config/schema.ts";
import { createProgress } from "../report/progress.ts";
import { tellWorking } from "../report/working.ts";
import { interruptible } from "./interruptible.ts";
import { printReport } from "./report-output.ts";

const schema = runSchema.pick({
  output: true,
  force: true,
  run_id: true,
  record_command: true,
  json: true,
  table: true,
  quiet: true,
  color: true,
  debug: true,
}) satisfies z.ZodObject;

export const importCommand = defineCommand({
  meta: {
    name: "import",
    description: "Make a run of perf.data, perf script text or a memray capture",
  },
  args: {
    file: { type: "positional", description: "File to read; its format is told by its first bytes", required: true },
    ...flagsOf(schema),
  },
  async run({ args }) {
    const options = parseOptions(schema, givenOptions(schema, args));
    // Loaded on use: the tracer has the same entry point and must stay small.
    const { importFile } = await import("../pipelines/import.ts");
    using working = tellWorking(createProgress(process.stderr, options), "importing");
    const { output, run_id, force, record_command } = options;
    const request = { file: args.file, output, run_id, force, record_command };
    const { report } = await interruptible((signal) => importFile({ ...request, signal }));
    working[Symbol.dispose]();
    return printReport(report, { ...options, stdoutIsTargets: false, isNew: true });
  },
});
