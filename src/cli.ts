#!/usr/bin/env bun
/** Table of contents of the commands; the only place that ends the process. */
import { stripVTControlCharacters } from "node:util";
import { type ArgsDef, type CommandDef, renderUsage, runCommand } from "citty";
import { createConsola } from "consola";
import packageJson from "../package.json" with { type: "json" };
import { analyseCommand } from "./commands/analyse.ts";
import { modelCommand } from "./commands/model.ts";
import { runCommand as run } from "./commands/run.ts";
import { EXIT_CODES, MrmTraceError } from "./errors.ts";
import { encodeFailure, toJson } from "./schema/run-json.ts";

const VERBS: Record<string, CommandDef<ArgsDef>> = {
  run: run as CommandDef<ArgsDef>,
  analyse: analyseCommand as CommandDef<ArgsDef>,
  model: modelCommand as CommandDef<ArgsDef>,
};

const main: CommandDef<ArgsDef> = {
  meta: { name: "mrm-trace", version: packageJson.version, description: packageJson.description },
  subCommands: VERBS,
};

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

/** Help on stdout; its colours only on a terminal. */
async function showHelp(command: CommandDef<ArgsDef>, parent?: CommandDef<ArgsDef>): Promise<void> {
  const text = await renderUsage(command, parent);
  const plain = !process.stdout.isTTY || Boolean(process.env.NO_COLOR);
  process.stdout.write(`${plain ? stripVTControlCharacters(text) : text}\n`);
}

function printFailure(failure: MrmTraceError, error: unknown, own: readonly string[]): void {
  if (own.includes("--json")) process.stdout.write(`${toJson(encodeFailure(failure, runDirOf(error)))}\n`);
  const log = createConsola({ stdout: process.stderr, stderr: process.stderr });
  log.error(`${failure.message}\n  fix: ${failure.hint}`);
  if (own.includes("--debug")) process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
}

/** Runs the command line; returns the exit code. */
async function cli(args: string[]): Promise<number> {
  // What stands behind -- belongs to the command that is traced.
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  if (own.includes("--version")) {
    process.stdout.write(`${packageJson.version}\n`);
    return EXIT_CODES.ok;
  }
  const name = own[0] ?? "";
  const verb = VERBS[name];
  if (own.includes("--help") || own.includes("-h")) {
    await (verb ? showHelp(verb, main) : showHelp(main));
    return EXIT_CODES.ok;
  }
  try {
    if (verb === undefined) throw unknownVerb(name);
    // Not through the main command: citty does not hand on what a sub-command returns.
    const { result } = await runCommand(verb, { rawArgs: args.slice(1) });
    return typeof result === "number" ? result : EXIT_CODES.ok;
  } catch (error) {
    const failure = asFailure(error);
    printFailure(failure, error, own);
    return failure.exitCode;
  }
}

function unknownVerb(name: string): MrmTraceError {
  const known = Object.keys(VERBS).join(", ");
  const what = name === "" ? "no command given" : `unknown command "${name}"`;
  return new MrmTraceError("usage", what, `one of ${known}; see: mrm-trace --help`);
}

/** The run directory that a failed run left, where the error names one. */
function runDirOf(error: unknown): string | null {
  const found = error instanceof Error ? Reflect.get(error, "runDir") : undefined;
  return typeof found === "string" ? found : null;
}

process.exit(await cli(process.argv.slice(2)));
