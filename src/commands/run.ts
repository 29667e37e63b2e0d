/** `mrm-trace run`: launches a command, or the demo, and traces it. */
import { defineCommand } from "citty";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { demoSchema, parseOptions, resumeSchema, runSchema, serveSchema, sweepFlagsSchema } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";
import { watchSignals } from "../record/signals.ts";
import { planOfFile, readOptions, runPlan } from "./experiment.ts";
import { linesBeside, recordingProgress } from "./lines.ts";
import { printRecorded } from "./recorded-output.ts";
import { printReport } from "./report-output.ts";

const flags = {
  ...flagsOf(sweepFlagsSchema),
  ...flagsOf(resumeSchema),
  ...flagsOf(serveSchema),
  ...flagsOf(runSchema),
  ...flagsOf(demoSchema),
};

/** A word before -- that is no flag is a mistake. */
function refuseStrangers(positional: readonly string[]): void {
  if (positional.length > 0) {
    throw new MrmTraceError(
      "usage",
      `unexpected word "${positional[0]}"`,
      `put the command behind --, such as: mrm-trace run -- ${positional.join(" ")}`,
    );
  }
}

/** Options of the demo beside a command would do nothing. */
function refuseDemoOptions(command: readonly string[], args: Readonly<Record<string, unknown>>): void {
  const [given] = Object.keys(givenOptions(demoSchema, args));
  if (command.length === 0 || given === undefined) return;
  throw new MrmTraceError(
    "usage",
    `--${given.replaceAll("_", "-")} is an option of the demo, but a command was given: "${command.join(" ")}"`,
    "leave one of them out; options of the command stand behind its name",
  );
}

/** What our client shall do needs a server, and an experiment says it itself. */
function refuseClientOptions(command: readonly string[], args: Readonly<Record<string, unknown>>): void {
  const given = Object.keys(givenOptions(serveSchema, args));
  const [first = ""] = given;
  if (given.length === 0 || (given.includes("serve") && command.length > 0)) return;
  const hint = "name the command of a server: mrm-trace run --serve 30s -- llama-server -m model.gguf --port {port}";
  const missing = command.length === 0 ? "no command to be the client of" : "no --serve";
  throw new MrmTraceError("usage", `--${first.replaceAll("_", "-")} was given, and ${missing}`, hint);
}

/** An experiment says itself what runs. */
function refuseCommand(command: readonly string[]): void {
  if (command.length === 0) return;
  throw new MrmTraceError(
    "usage",
    `a command was given with an experiment: "${command.join(" ")}"`,
    "leave one of them out; options for a command belong into a file without models",
  );
}

/** An experiment compares what its runs derive. */
function refuseRecordOnly(isGiven: boolean): void {
  if (!isGiven) return;
  throw new MrmTraceError(
    "usage",
    "--record-only was given with an experiment, which compares what its runs derive",
    "leave it out, or record single runs: mrm-trace run --record-only -- COMMAND",
  );
}

export const runCommand = defineCommand({
  meta: {
    name: "run",
    description: "Trace a command (after --), the experiments of a file, or a demo",
  },
  args: flags,
  async run({ args, rawArgs }) {
    const command = rawArgs.includes("--") ? rawArgs.slice(rawArgs.indexOf("--") + 1) : [];
    refuseStrangers(command.length > 0 ? args._.slice(0, args._.length - command.length) : args._);
    const { config, max_runs } = parseOptions(sweepFlagsSchema, givenOptions(sweepFlagsSchema, args));
    const { resume } = parseOptions(resumeSchema, givenOptions(resumeSchema, args));
    const effective = readOptions(args, config, max_runs);
    const { run: options, demo } = effective;
    if (rawArgs.includes("--") && command.length === 0) {
      throw new MrmTraceError(
        "usage",
        "nothing stands behind --",
        "name the command to trace: mrm-trace run -- COMMAND",
      );
    }
    refuseDemoOptions(command, args);
    refuseClientOptions(command, args);
    const { serve, ...client } = parseOptions(serveSchema, givenOptions(serveSchema, args));
    const plan = planOfFile(effective);
    if (plan !== null) {
      refuseCommand(command);
      refuseRecordOnly(options.record_only);
      return runPlan(plan, resume);
    }
    if (resume) {
      throw new MrmTraceError("usage", "--resume was given without an experiment", "name its file: --config FILE");
    }
    using signals = watchSignals();
    // Loaded on use: every other command has the same entry point.
    const [{ run }, { serveRequest }, { unusedOptions }] = await Promise.all([
      import("../pipelines/run.ts"),
      import("../pipelines/serving.ts"),
      import("../record/unused-options.ts"),
    ]);
    const unused = unusedOptions(effective.options, options);
    const progress = recordingProgress(options);
    const { say, notice } = linesBeside(progress, options);
    for (const line of unused) notice(line);
    try {
      const stdoutFd = options.json ? 2 : 1;
      const outcome = await run({
        options,
        demo,
        command,
        ...(serve === undefined ? {} : { serve: serveRequest({ ...client, serve }) }),
        progress,
        say,
        notice,
        signals,
        stdoutFd,
        isOwnProcess: true,
      });
      if (outcome.report === null) {
        printRecorded(outcome.directory.path, options);
        return outcome.exitCode;
      }
      const readCode = printReport(outcome.report, { ...options, stdoutIsTargets: true, isNew: true });
      return outcome.exitCode === 0 ? readCode : outcome.exitCode;
    } finally {
      progress.clear();
    }
  },
});
