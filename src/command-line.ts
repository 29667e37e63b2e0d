/** The command line: finds the verb, runs it, tells failures. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs, runCommand } from "citty";
import packageJson from "../package.json" with { type: "json" };
import { giveUpRoot } from "./commands/give-up-root.ts";
import { outliveReader } from "./commands/outlive-reader.ts";
import type { Verb } from "./commands/verb.ts";
import { COMMON_VERBS, loadVerb, loadVerbs, VERB_NAMES } from "./commands/verbs.ts";
import { nearestFlag, switchWithValue, unknownFlag } from "./config/flags.ts";
import { nearestWord } from "./config/nearest-word.ts";
import { EXIT_CODES, MrmTraceError } from "./errors.ts";
import { reasonOf, type SignalWatch, type StopSignal } from "./record/signals.ts";
import { printedOutput } from "./report/standard-output/printed-output.ts";
import { unwritten } from "./report/standard-output/unwritten.ts";
import { printableLines } from "./report/terminal.ts";
import { shellWords } from "./run-directory/shell-words.ts";
import { forgetLauncher, refuseForeignSettings } from "./runtime.ts";
import { encodeFailure, toJson } from "./schema/run-json.ts";

const HELP = ["--help", "--help-all", "-h"];

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

/** Tells a failure, as JSON too where it was asked for; returns the exit code. */
async function failed(error: unknown, verbArgs: readonly string[]): Promise<number> {
  const failure = asFailure(error);
  if (verbArgs.includes("--json")) process.stdout.write(`${toJson(encodeFailure(failure, runDirOf(error)))}\n`);
  await tell(failure);
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  if (verbArgs.includes("--debug")) process.stderr.write(`${printableLines(stack)}\n`);
  return failure.exitCode;
}

/** For people, on a terminal that a name in the message must not steer. */
async function tell(failure: MrmTraceError): Promise<void> {
  const { createConsola } = await import("consola");
  const log = createConsola({ stdout: process.stderr, stderr: process.stderr });
  log.error(printableLines(`${failure.message}\n  fix: ${failure.hint}`));
}

/** What stands behind -- belongs to the command that is traced. */
const ourWords = (args: readonly string[]): string[] => [
  ...(args.includes("--") ? args.slice(0, args.indexOf("--")) : args),
];

/** Signals that come before the command sees them itself. */
interface EarlySignals {
  readonly watch: SignalWatch;
  /** True once they are left to the command. */
  isOver: boolean;
}

/** A signal that came while the command was loaded: without a word it would look like an end of its own. */
function cutShort(signal: StopSignal): MrmTraceError {
  return new MrmTraceError(reasonOf(signal), `${signal} came before anything was done`, "start it again");
}

/** Leaves signals to the command, unless one came: then the end of the process is under way, and nothing more begins. */
async function leaveSignals(early: EarlySignals, verb: Verb): Promise<void> {
  // What came while code was loaded is told when the loop turns.
  await Bun.sleep(0);
  if (early.watch.received !== null) await new Promise(() => {});
  early.isOver = true;
  if (!verb.seesSignals) early.watch[Symbol.dispose]();
}

/** Runs the command line; returns the exit code. */
async function cli(args: string[], early: EarlySignals): Promise<number> {
  const words = ourWords(args);
  try {
    refuseForeignSettings();
  } catch (error) {
    return await failed(error, words);
  }
  const [first, ...rest] = words;
  const surplus = wordWithoutVerb(words);
  if (surplus !== null) return await failed(surplus, words);
  if (first === "help") return await cli(rest.length === 0 ? ["--help"] : [...rest, "--help"], early);
  if (words.includes("--version") || words.includes("-V") || first === "version") {
    const { versionText } = await import("./commands/version.ts");
    process.stdout.write(versionText({ json: words.includes("--json") }));
    return EXIT_CODES.ok;
  }
  const name = words[0] ?? "";
  const verb = await loadVerb(name);
  try {
    if (HELP.some((flag) => words.includes(flag)) && (verb !== null || name.startsWith("-"))) {
      process.stdout.write(await helpText(name, verb, words.includes("--help-all")));
      return EXIT_CODES.ok;
    }
    if (verb === null) throw unknownVerb(args);
    refuseUnknownFlag(name, verb, rest);
    refuseSwitchWithValue(verb, rest);
    requireWords(verb, rest);
    if (!verb.isRootNeeded) await giveUpRoot();
    await leaveSignals(early, verb);
    const { result } = await runCommand(verb.command, { rawArgs: args.slice(1) });
    return typeof result === "number" ? result : EXIT_CODES.ok;
  } catch (error) {
    return await failed(error, words);
  }
}

async function helpText(name: string, verb: Verb | null, every: boolean): Promise<string> {
  const { fullVerbHelp, programHelp, verbHelp } = await import("./commands/help.ts");
  if (verb === null) return programHelp(packageJson.description, await loadVerbs(), every ? null : COMMON_VERBS);
  return every ? fullVerbHelp(name, verb) : verbHelp(name, verb);
}

function refuseUnknownFlag(name: string, verb: Verb, ownArgs: readonly string[]): void {
  const unknown = unknownFlag(ownArgs, verb.args);
  if (unknown === null) return;
  const nearest = nearestFlag(unknown, verb.args);
  const hint = nearest === null ? `see: mrm-trace ${name} --help` : `did you mean ${nearest}?`;
  throw new MrmTraceError("usage", `unknown option ${unknown}`, hint);
}

/** @throws MrmTraceError usage; the parser would take any value of a switch for true */
function refuseSwitchWithValue(verb: Verb, ownArgs: readonly string[]): void {
  const found = switchWithValue(ownArgs, verb.args);
  if (found === null) return;
  const { flag, value } = found;
  const message = `${flag} is on or off, but received "${value}"`;
  throw new MrmTraceError("usage", message, `leave the value out: ${flag}`);
}

/** Every place has its word, and every word its place. @throws MrmTraceError usage */
function requireWords(verb: Verb, verbArgs: readonly string[]): void {
  const places = Object.entries(verb.args).filter(([, arg]) => arg.type === "positional");
  // The parser would take a number below zero for a flag, and say nothing of it.
  const number = verbArgs.find((word, i) => /^-\d/.test(word) && !/^--?[A-Za-z][^=]*$/.test(verbArgs[i - 1] ?? ""));
  // What is missing is told here by its name, so that the parser is not asked for it.
  const optional = Object.entries(verb.args).map(([key, arg]) => [key, { ...arg, required: false }]);
  const words = number === undefined ? parseArgs([...verbArgs], Object.fromEntries(optional))._ : [number];
  const missing = places.find(([, arg], i) => arg.required !== false && words[i] === undefined);
  if (missing !== undefined) {
    throw new MrmTraceError("usage", `${missing[0].toUpperCase()} is missing`, `give it, such as: ${verb.example}`);
  }
  const surplus = number ?? words[places.length];
  if (surplus !== undefined && verb.surplus !== null) {
    throw unexpectedWord(surplus, verb.surplus.replaceAll("WORD", surplus));
  }
}

/** A word too many where no verb takes words: behind help and its verb, and behind what asks for the version or for help alone. */
function wordWithoutVerb([first = "", ...rest]: readonly string[]): MrmTraceError | null {
  const isHelp = HELP.includes(first);
  const isVersion = ["version", "--version", "-V"].includes(first);
  if (first !== "help" && !isHelp && !isVersion) return null;
  const word = (first === "help" ? rest.slice(1) : rest).find((one) => !one.startsWith("-"));
  if (word === undefined) return null;
  const isVerb = isHelp && VERB_NAMES.includes(word);
  const example = first === "help" ? "mrm-trace help run" : `mrm-trace ${first}`;
  return unexpectedWord(word, isVerb ? `did you mean: mrm-trace help ${word}?` : `leave it out, such as: ${example}`);
}

function unexpectedWord(word: string, hint: string): MrmTraceError {
  return new MrmTraceError("usage", `unexpected word "${word}"`, hint);
}

/**
 * What is said where the first word is no verb: what was meant, as far as the words tell.
 * @param args the whole command line
 */
export function unknownVerb(args: readonly string[]): MrmTraceError {
  const [name = ""] = args;
  if (name === "" || name === "--") return new MrmTraceError("usage", "no command given", meantBy(args));
  if (!name.startsWith("-")) return new MrmTraceError("usage", `unknown command "${name}"`, meantBy(args));
  const example = args.includes("--") ? shellWords(["mrm-trace", "run", ...args]) : "mrm-trace run";
  const hint = name === "-v" ? "did you mean: mrm-trace --version?" : `name it first, such as: ${example}`;
  return new MrmTraceError("usage", `no command stands before ${name}`, hint);
}

function meantBy(args: readonly string[]): string {
  const [name = ""] = args;
  const traced = (words: readonly string[]): string =>
    `to trace it: ${shellWords(["mrm-trace", "run", "--", ...words])}`;
  const nearest = nearestWord(name, VERB_NAMES);
  if (nearest !== null) return `did you mean ${nearest}?`;
  if (name === "--" && args.length > 1) return traced(args.slice(1));
  if (/^\d+$/.test(name)) return `to trace a process that runs: mrm-trace attach ${name}`;
  if (isProgram(name)) return traced(args);
  if (name !== "" && ["capture", "metadata.json"].some((part) => existsSync(join(name, part))))
    return `to see what a run told: ${shellWords(["mrm-trace", "show", name])}`;
  return `use one of ${VERB_NAMES.join(", ")}; see: mrm-trace --help`;
}

/** True for what a shell would start. */
const isProgram = (word: string): boolean => word !== "" && Bun.which(word) !== null;

/** The run directory that a failed run left, where the error names one. */
function runDirOf(error: unknown): string | null {
  const found = error instanceof Error ? Reflect.get(error, "runDir") : undefined;
  return typeof found === "string" ? found : null;
}

/**
 * Runs the command line to its end.
 * @param watch sees the signals that come before the command sees them itself
 * @returns the exit code
 */
export async function commandLine(args: string[], watch: SignalWatch): Promise<number> {
  forgetLauncher();
  outliveReader(process.stderr);
  const stdout = printedOutput(process.stdout);
  const early: EarlySignals = { watch, isOver: false };
  const interrupted = new Promise<number>((end) => {
    watch.onFirst((signal) => {
      if (!early.isOver) end(failed(cutShort(signal), ourWords(args)));
    });
  });
  const code = await Promise.race([cli(args, early), interrupted]);
  const refusal = await stdout.end();
  const failure = refusal === null ? null : unwritten(refusal);
  if (failure !== null) await tell(failure);
  return code === EXIT_CODES.ok ? (failure?.exitCode ?? code) : code;
}
