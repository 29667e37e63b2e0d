/** `mrm-trace analyse`: derives everything after capture again, without root. */
import { defineCommand } from "citty";
import type { z } from "zod";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { parseOptions, runSchema } from "../config/schema.ts";
import { printReport } from "./report-output.ts";

const schema = runSchema.pick({ json: true, quiet: true, color: true, debug: true }) satisfies z.ZodObject;

export const analyseCommand = defineCommand({
  meta: { name: "analyse", description: "Derive labels, metrics and files of a run directory again, without root" },
  args: {
    run_dir: { type: "positional", description: "Folder of a run, such as results/MODEL/RUN_ID", required: true },
    ...flagsOf(schema),
  },
  async run({ args }) {
    const options = parseOptions(schema, givenOptions(schema, args));
    // Loaded on use: the tracer has the same entry point and must stay small.
    const { analyse } = await import("../analyse.ts");
    const { report } = await analyse(args.run_dir);
    printReport(report, { ...options, stdoutIsTargets: false });
    return 0;
  },
});
