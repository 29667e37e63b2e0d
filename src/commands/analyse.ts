/** `mrm-trace analyse`: derives everything after capture again, without root. */
import { defineCommand } from "citty";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { analyseSchema, parseOptions } from "../config/schema.ts";
import { dieFirst, stepBack } from "../overhead/priority.ts";
import { createProgress } from "../report/progress.ts";
import { tellWorking } from "../report/working.ts";
import { printReport } from "./report-output.ts";

export const analyseCommand = defineCommand({
  meta: {
    name: "analyse",
    description: "Derive labels, metrics and files of a run or trace, without root",
  },
  args: {
    run_dir: {
      type: "positional",
      description: "Folder of a run, such as results/MODEL/RUN_ID, or a trace.parquet",
      required: true,
    },
    ...flagsOf(analyseSchema),
  },
  async run({ args }) {
    const options = parseOptions(analyseSchema, givenOptions(analyseSchema, args));
    // It may run beside a server that matters more.
    dieFirst();
    stepBack();
    // Loaded on use: the tracer has the same entry point and must stay small.
    const { analyse } = await import("../pipelines/analyse.ts");
    using working = tellWorking(createProgress(process.stderr, options), "analysing");
    const { report } = await analyse(args.run_dir, { ...options, period: options.period ?? null });
    working[Symbol.dispose]();
    return printReport(report, { ...options, stdoutIsTargets: false, isNew: true });
  },
});
