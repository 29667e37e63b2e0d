/** `mrm-trace validate`: everything that is wrong with a configuration file, at once. */
import { defineCommand } from "citty";
import { readConfigFile } from "../config/config-file.ts";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { problemLine, problemsError, problemsExitCode } from "../config/problem.ts";
import { parseOptions, runSchema, sweepFlagsSchema } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";
import { type CheckedConfig, checkConfig } from "../experiment/check-experiment.ts";
import { printable } from "../report/terminal.ts";
import { encodeFailure, toJson } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { asUser } from "../target/acting-user.ts";
import { invokingUser } from "../target/invoking-user.ts";
import { formatCounted } from "../units.ts";
import { printExamination } from "./examination-output.ts";

function verdict(path: string, { problems, runs }: CheckedConfig): string {
  if (problems.length > 0) return `${path} has ${formatCounted(problems.length, "problem")}`;
  if (runs === null) return `${path} is valid: options without an experiment`;
  const all = `${formatCounted(runs.total, "run")} of ${formatCounted(runs.models, "model")}`;
  return `${path} is valid: ${all}, ${formatCounted(runs.warmups, "warm-up")} among them`;
}

function asText(path: string, checked: CheckedConfig): string {
  const lines = [
    ...checked.problems.map((problem) => `error    ${problemLine(path, problem)}`),
    ...checked.warnings.map((problem) => `warning  ${problemLine(path, problem)}`),
    verdict(path, checked),
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}

function asJson(path: string, { problems, warnings, runs }: CheckedConfig): string {
  const failure = problems.length === 0 ? {} : encodeFailure(problemsError(path, problems), null);
  const valid = problems.length === 0;
  return `${toJson({ schema_version: JSON_SCHEMA_VERSION, ...failure, config: path, valid, runs, problems, warnings })}\n`;
}

export const validateCommand = defineCommand({
  meta: { name: "validate", description: "Tell every problem of a configuration file at once; runs nothing" },
  args: {
    file: { type: "positional", required: false, valueHint: "FILE", description: "YAML or JSON file" },
    ...flagsOf(sweepFlagsSchema),
    machine: { type: "boolean", default: false, description: "examine this machine instead, as doctor does" },
    json: { type: "boolean", default: false, description: "print one JSON object" },
  },
  async run({ args }) {
    const { config, max_runs } = parseOptions(sweepFlagsSchema, givenOptions(sweepFlagsSchema, args));
    const path = typeof args.file === "string" && args.file !== "" ? args.file : config;
    if (args.machine) {
      if (path !== undefined) {
        const message = `--machine takes no file, but received "${path}"`;
        throw new MrmTraceError("usage", message, "run both: mrm-trace doctor && mrm-trace validate FILE");
      }
      const { output, color } = runSchema.pick({ output: true, color: true }).parse({});
      return await printExamination({ output, color, json: args.json });
    }
    if (path === undefined) {
      throw new MrmTraceError(
        "usage",
        "no file was named",
        "name it: mrm-trace validate FILE (or examine this machine: mrm-trace validate --machine)",
      );
    }
    // Models and prompts too: what the caller of sudo may not read is told to nobody.
    const checked = asUser(invokingUser(), () => checkConfig(readConfigFile(path), max_runs));
    process.stdout.write(args.json ? asJson(path, checked) : asText(path, checked));
    return problemsExitCode(checked.problems);
  },
});
