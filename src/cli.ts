#!/usr/bin/env bun
/** The command line: finds the verb, runs it, tells failures; the only place that ends the process. */
import { runCommand } from "citty";
import { createConsola } from "consola";
import packageJson from "../package.json" with { type: "json" };
import { fullVerbHelp, programHelp, verbHelp } from "./commands/help.ts";
import type { Verb } from "./commands/verb.ts";
import { VERBS } from "./commands/verbs.ts";
import { versionText } from "./commands/version.ts";
import { nearestFlag, unknownFlag } from "./config/flags.ts";
import { nearestWord } from "./config/nearest-word.ts";
import { EXIT_CODES, MrmTraceError } from "./errors.ts";
import { encodeFailure, toJson } from "./schema/run-json.ts";

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
    process.stdout.write(versionText({ json: own.includes("--json") }));
    return EXIT_CODES.ok;
  }
  const name = own[0] ?? "";
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  const all = own.includes("--help-all");
  if (all || own.includes("--help") || own.includes("-h")) {
    const help = all ? fullVerbHelp : verbHelp;
    process.stdout.write(verb ? help(name, verb) : programHelp(packageJson.description, VERBS));
    return EXIT_CODES.ok;
  }
  try {
    if (verb === undefined) throw unknownVerb(name);
    refuseUnknownFlag(name, verb, own.slice(1));
    const { result } = await runCommand(verb.command, { rawArgs: args.slice(1) });
    return typeof result === "number" ? result : EXIT_CODES.ok;
  } catch (error) {
    const failure = asFailure(error);
    printFailure(failure, error, own);
    return failure.exitCode;
  }
}

function refuseUnknownFlag(name: string, verb: Verb, own: readonly string[]): void {
  const unknown = unknownFlag(own, verb.args);
  if (unknown === null) return;
  const nearest = nearestFlag(unknown, verb.args);
  const hint = nearest === null ? `see: mrm-trace ${name} --help` : `did you mean ${nearest}?`;
  throw new MrmTraceError("usage", `unknown option ${unknown}`, hint);
}

function unknownVerb(name: string): MrmTraceError {
  const known = Object.keys(VERBS);
  const what = name === "" ? "no command given" : `unknown command "${name}"`;
  const nearest = nearestWord(name, known);
  const hint = nearest === null ? `one of ${known.join(", ")}; see: mrm-trace --help` : `did you mean ${nearest}?`;
  return new MrmTraceError("usage", what, hint);
}

/** The run directory that a failed run left, where the error names one. */
function runDirOf(error: unknown): string | null {
  const found = error instanceof Error ? Reflect.get(error, "runDir") : undefined;
  return typeof found === "string" ? found : null;
}

process.exit(await cli(process.argv.slice(2)));
