#!/usr/bin/env bun
/** Table of contents of the commands; the only place that ends the process. */
import { defineCommand, runCommand, showUsage } from "citty";
import { consola } from "consola";
import packageJson from "../package.json" with { type: "json" };
import { analyseCommand } from "./commands/analyse.ts";
import { modelCommand } from "./commands/model.ts";
import { runCommand as run } from "./commands/run.ts";
import { EXIT_CODES, MrmTraceError } from "./errors.ts";
import { encodeFailure, toJson } from "./schema/run-json.ts";

const main = defineCommand({
  meta: {
    name: "mrm-trace",
    version: packageJson.version,
    description: packageJson.description,
  },
  subCommands: { run, analyse: analyseCommand, model: modelCommand },
});

/** What citty throws for a command line that it cannot read. */
function isUsageError(error: unknown): error is Error {
  return error instanceof Error && error.name === "CLIError";
}

function asFailure(error: unknown): MrmTraceError {
  if (error instanceof MrmTraceError) return error;
  if (isUsageError(error)) return new MrmTraceError("usage", error.message, "see: mrm-trace --help", { cause: error });
  const message = error instanceof Error ? error.message : String(error);
  return new MrmTraceError("failure", message, "run again with --debug and report what it prints", { cause: error });
}

/** Runs the command line; returns the exit code. */
async function cli(args: string[]): Promise<number> {
  // What stands behind -- belongs to the command that is traced.
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  if (own.includes("--version")) {
    process.stdout.write(`${packageJson.version}\n`);
    return EXIT_CODES.ok;
  }
  const verbs = main.subCommands as Record<string, typeof main>;
  if (own.length === 0 || own.includes("--help") || own.includes("-h")) {
    const verb = own[0] === undefined ? undefined : verbs[own[0]];
    await (verb ? showUsage(verb, main) : showUsage(main));
    return own.length === 0 ? EXIT_CODES.usage : EXIT_CODES.ok;
  }
  try {
    const { result } = await runCommand(main, { rawArgs: args });
    return typeof result === "number" ? result : EXIT_CODES.ok;
  } catch (error) {
    const failure = asFailure(error);
    if (own.includes("--json")) process.stdout.write(`${toJson(encodeFailure(failure, runDirOf(error)))}\n`);
    const log = consola.withDefaults({}).create({ stdout: process.stderr, stderr: process.stderr });
    log.error(`${failure.message}\n  fix: ${failure.hint}`);
    if (own.includes("--debug")) process.stderr.write(`${(error as Error)?.stack ?? String(error)}\n`);
    return failure.exitCode;
  }
}

/** The run directory that a failed run left, where the error names one. */
function runDirOf(error: unknown): string | null {
  const found = error instanceof Error ? Reflect.get(error, "runDir") : undefined;
  return typeof found === "string" ? found : null;
}

process.exit(await cli(process.argv.slice(2)));
