/** `mrm-trace attach`: traces a process tree that runs already. */
import { defineCommand } from "citty";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { attachSchema, parseOptions, sweepFlagsSchema } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";
import { watchSignals } from "../record/signals.ts";
import { planOfFile, readOptions } from "./experiment.ts";
import { linesBeside, recordingProgress } from "./lines.ts";
import { printRecorded } from "./recorded-output.ts";
import { printReport } from "./report-output.ts";

export const attachCommand = defineCommand({
  meta: { name: "attach", description: "Trace a running process and its children, and leave it as it is" },
  args: {
    process: {
      type: "positional",
      required: true,
      description: "pid, or the whole name of a process or of its executable",
    },
    ...flagsOf(sweepFlagsSchema.pick({ config: true })),
    ...flagsOf(attachSchema),
  },
  async run({ args }) {
    const { config, max_runs } = parseOptions(sweepFlagsSchema, givenOptions(sweepFlagsSchema, args));
    const effective = readOptions(args, config, max_runs);
    if (planOfFile(effective) !== null) {
      throw new MrmTraceError(
        "usage",
        `${config} holds experiments, which start what they run`,
        `make them with: mrm-trace run --config ${config}; or leave "models" out, and its options hold here`,
      );
    }
    const options = effective.run;
    using signals = watchSignals();
    // Loaded on use: every other command has the same entry point.
    const [{ attach }, { unusedOptions }] = await Promise.all([
      import("../pipelines/attach.ts"),
      import("../record/unused-options.ts"),
    ]);
    const unused = unusedOptions(effective.options, options);
    const progress = recordingProgress(options);
    const { say, notice } = linesBeside(progress, options);
    for (const line of unused) notice(line);
    try {
      const request = { options, process: String(args.process), progress, say, notice, signals, isOwnProcess: true };
      const outcome = await attach(request);
      if (outcome.report === null) {
        printRecorded(outcome.directory.path, options);
        return outcome.exitCode;
      }
      const readCode = printReport(outcome.report, { ...options, stdoutIsTargets: false, isNew: true });
      return outcome.exitCode === 0 ? readCode : outcome.exitCode;
    } finally {
      progress.clear();
    }
  },
});
