/** `mrm-trace plan`: what an experiment would run, and what that would take. */
import { defineCommand } from "citty";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { demoSchema, parseOptions, runSchema, sweepFlagsSchema } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";
import { planJson } from "../experiment/sweep-json.ts";
import { planText } from "../experiment/sweep-table.ts";
import { terminalOf } from "../report/terminal.ts";
import { toJson } from "../schema/run-json.ts";
import { planOfFile, readOptions } from "./experiment.ts";

export const planCommand = defineCommand({
  meta: {
    name: "plan",
    description: "Print what a file would run; time, disk, cost from earlier runs",
  },
  args: {
    file: { type: "positional", required: false, valueHint: "FILE", description: "YAML or JSON file" },
    ...flagsOf(sweepFlagsSchema),
    ...flagsOf(runSchema),
    ...flagsOf(demoSchema),
  },
  run({ args }) {
    const { config, max_runs } = parseOptions(sweepFlagsSchema, givenOptions(sweepFlagsSchema, args));
    const path = typeof args.file === "string" && args.file !== "" ? args.file : config;
    if (path === undefined) throw new MrmTraceError("usage", "no file was named", "name it: mrm-trace plan FILE");
    const effective = readOptions(args, path, max_runs);
    const plan = planOfFile(effective);
    if (plan === null) {
      const hint = "add experiment and models to it: mrm-trace config default shows the keys";
      throw new MrmTraceError("usage", `${path} has options and no experiment`, hint);
    }
    const { json, color } = effective.run;
    const text = json ? `${toJson(planJson(plan))}\n` : planText(plan, terminalOf(process.stdout, color, process.env));
    process.stdout.write(text);
  },
});
