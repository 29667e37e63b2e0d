/** `mrm-trace compare`: what each way to trace costs its target; or, of two run directories, how their figures differ. */
import { defineCommand } from "citty";
import { type CompareOptions, compareSchema, tracerSchema, tracerWords } from "../config/compare.ts";
import type { Effective } from "../config/effective.ts";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { demoSchema, parseOptions, serveSchema, sweepFlagsSchema } from "../config/schema.ts";
import { EXIT_CODES, MrmTraceError } from "../errors.ts";
import { requestOf } from "../experiment/run-request.ts";
import { watchSignals } from "../record/signals.ts";
import { renderDifference } from "../report/difference-table.ts";
import { renderEffect } from "../report/effect-table.ts";
import { printableLines, type Terminal, terminalOf } from "../report/terminal.ts";
import { encodeEffect, type ObserverEffect } from "../schema/observer-effect.ts";
import { toJson } from "../schema/run-json.ts";
import { planOfFile, readOptions } from "./experiment.ts";
import { giveUpRoot } from "./give-up-root.ts";

/** 0 where every arm that could run passes, 5 where one costs more than the margin, 4 where it cannot be told. */
function exitCodeOf({ arms, stopped_by, failure }: ObserverEffect): number {
  if (stopped_by === "failed") return EXIT_CODES[failure?.code ?? "failure"];
  if (stopped_by !== "complete") return EXIT_CODES[stopped_by];
  const verdicts = arms.filter(({ unavailable }) => unavailable === null).map(({ verdict }) => verdict);
  if (verdicts.includes("FAIL")) return EXIT_CODES.budget;
  return verdicts.includes("INCONCLUSIVE") ? EXIT_CODES.data_quality : EXIT_CODES.ok;
}

/** What the one combination of a file's experiment decodes; null where it holds options only. @throws MrmTraceError usage */
function decodingOf(effective: Effective, command: readonly string[]) {
  const plan = planOfFile(effective);
  if (plan === null) return null;
  const [cell, ...others] = plan.entries.filter(({ planned }) => !planned.is_warmup && planned.rep_index === 0);
  if (cell === undefined || others.length > 0 || command.length > 0) {
    const what = command.length > 0 ? "an experiment and a command" : `${others.length + 1} combinations`;
    const hint = "name a file with one model and one value on each axis, or with options only";
    throw new MrmTraceError("usage", `every arm must do the same work, but received ${what}`, hint);
  }
  const { demo, workload, server } = requestOf(plan.experiment, cell.planned, false);
  if (server !== null) {
    const hint = `name it behind --: mrm-trace compare --serve 30s --api ${server.api} -- ${server.command.join(" ")}`;
    throw new MrmTraceError("usage", "an experiment of a server is none that compare can drive", hint);
  }
  return { demo, decoding: workload };
}

/** What our clients shall do needs a server. @throws MrmTraceError usage */
function refuseClientOptions({ serve }: CompareOptions, args: Readonly<Record<string, unknown>>): void {
  const given = Object.keys(givenOptions(serveSchema.pick({ api: true, clients: true, request_tokens: true }), args));
  const [first] = given;
  if (serve !== undefined || first === undefined) return;
  const hint = "add --serve: mrm-trace compare --serve 30s -- llama-server -m model.gguf --port {port}";
  throw new MrmTraceError("usage", `--${first.replaceAll("_", "-")} was given, and no --serve`, hint);
}

/** @throws MrmTraceError usage, where a time that only the tracer knows would end its runs */
function refuseDuration(effective: Effective): void {
  if (effective.run.duration !== undefined) {
    const hint = "leave it out; --tokens, --serve or the command itself say how long a run is";
    throw new MrmTraceError("usage", "a duration would end the traced runs and not the others", hint);
  }
}

async function compareRuns(a: string, b: string, json: boolean, terminal: Terminal): Promise<number> {
  await giveUpRoot();
  const { readSavedRun } = await import("../compare/saved-run.ts");
  const { differenceOfRuns } = await import("../compare/run-difference.ts");
  const difference = differenceOfRuns(readSavedRun(a), readSavedRun(b));
  process.stdout.write(json ? `${toJson(difference)}\n` : renderDifference(difference, terminal));
  return EXIT_CODES.ok;
}

/** The command behind --, and the words before it that are no flags. @throws MrmTraceError usage */
function wordsOf(positional: readonly string[], rawArgs: readonly string[], { arms }: CompareOptions) {
  const separator = rawArgs.indexOf("--");
  const command = separator < 0 ? [] : rawArgs.slice(separator + 1);
  if (separator >= 0 && command.length === 0) {
    throw new MrmTraceError("usage", "nothing stands behind --", "name the command: mrm-trace compare -- COMMAND");
  }
  const words = positional.slice(0, positional.length - command.length);
  const isRuns = words.length === 2 && command.length === 0 && arms === undefined;
  if (words.length > 0 && !isRuns) {
    throw new MrmTraceError(
      "usage",
      `unexpected word "${words[0]}"`,
      "name two run directories and nothing else, or a command behind --: mrm-trace compare --arms off,ebpf -- COMMAND",
    );
  }
  return { command, runs: words };
}

export const compareCommand = defineCommand({
  meta: {
    name: "compare",
    description: "Measure what tracing costs your workload, or compare two runs",
  },
  args: {
    ...flagsOf(compareSchema),
    ...flagsOf(sweepFlagsSchema.pick({ config: true })),
    ...flagsOf(demoSchema.omit({ seconds: true })),
    ...flagsOf(tracerSchema),
  },
  async run({ args, rawArgs }) {
    const { config, max_runs } = parseOptions(sweepFlagsSchema, givenOptions(sweepFlagsSchema, args));
    const effective = readOptions(args, config, max_runs);
    refuseDuration(effective);
    const { output, seed, json, quiet, color } = effective.run;
    const compareOptions = parseOptions(compareSchema, givenOptions(compareSchema, args));
    const options = { ...compareOptions, output, seed, json, quiet, color };
    refuseClientOptions(options, args);
    const { command, runs } = wordsOf(args._, rawArgs, options);
    const terminal = terminalOf(process.stdout, options.color, process.env);
    const [a, b] = runs;
    if (a !== undefined && b !== undefined) return await compareRuns(a, b, options.json, terminal);
    const say = (line: string): void => {
      if (!options.quiet) process.stderr.write(`mrm-trace: ${printableLines(line)}\n`);
    };
    using signals = watchSignals();
    // Loaded on use: the tracer has the same entry point and must stay small.
    const { compareArms } = await import("../compare/compare-arms.ts");
    const { effect, folder } = await compareArms({
      options,
      ...(decodingOf(effective, command) ?? { demo: effective.demo }),
      tracer: tracerWords(effective.options),
      command,
      recordCommand: effective.run.record_command,
      signals,
      say,
    });
    process.stdout.write(
      options.json ? `${toJson({ ...encodeEffect(effect), folder })}\n` : renderEffect(effect, folder, terminal),
    );
    return exitCodeOf(effect);
  },
});
