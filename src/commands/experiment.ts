/** A file of experiments as the commands take it: read, checked, made a plan; and its runs made. */
import { readConfigFile } from "../config/config-file.ts";
import { type Effective, effectiveOptions } from "../config/effective.ts";
import { misspeltVariables } from "../config/environment.ts";
import { problemsError } from "../config/problem.ts";
import { MrmTraceError } from "../errors.ts";
import { checkConfig } from "../experiment/check-experiment.ts";
import type { RunResult } from "../experiment/outcome.ts";
import { type Plan, planOf } from "../experiment/plan.ts";
import { writeRunsCsv } from "../experiment/runs-csv.ts";
import { experimentOf } from "../experiment/sweep.ts";
import { sweepJson } from "../experiment/sweep-json.ts";
import { summaryText } from "../experiment/sweep-table.ts";
import { watchSignals } from "../record/signals.ts";
import { printable, terminalOf } from "../report/terminal.ts";
import { toJson } from "../schema/run-json.ts";
import { asUser } from "../target/acting-user.ts";
import { invokingUser } from "../target/invoking-user.ts";
import { makerOf, rootsGift } from "../target/results-maker.ts";
import { formatCount, formatNs } from "../units.ts";

/**
 * The options that hold, with a word on stderr about variables that are probably misspelt.
 * @throws MrmTraceError usage or environment, with every problem of the file
 */
export function readOptions(
  args: Readonly<Record<string, unknown>>,
  config: string | undefined,
  maxRuns: number,
): Effective {
  for (const { variable, meant } of misspeltVariables(process.env)) {
    process.stderr.write(`mrm-trace: ${variable} is no option; did you mean ${meant}?\n`);
  }
  // What the caller of sudo may not read is told to nobody.
  return asUser(invokingUser(), () => optionsOf(args, config, maxRuns));
}

function optionsOf(args: Readonly<Record<string, unknown>>, config: string | undefined, maxRuns: number): Effective {
  if (config === undefined) return effectiveOptions({ args });
  const { problems, warnings } = checkConfig(readConfigFile(config), maxRuns);
  if (problems.length > 0) throw problemsError(config, problems);
  const effective = effectiveOptions({ args, config });
  if (warnings.length > 0 && !effective.run.quiet) {
    const keys = `${warnings.length} key${warnings.length === 1 ? "" : "s"}`;
    process.stderr.write(`mrm-trace: ${keys} of ${config} do nothing here; see: mrm-trace validate ${config}\n`);
  }
  return effective;
}

/** The plan of a file's experiment; null where it holds options only. */
export function planOfFile(effective: Effective): Plan | null {
  const experiment = experimentOf(effective);
  if (experiment === null) return null;
  if (experiment.run.run_id !== undefined) {
    throw new MrmTraceError(
      "usage",
      "--run-id was given with an experiment",
      "leave it out: each run has an id of its own",
    );
  }
  return makerOf(experiment.run.output).as(() => planOf(experiment));
}

function endText({ status, record, why }: RunResult): string {
  const took = record === null ? "" : `, ${formatNs(record.total_s * 1e9)}`;
  const rate = record?.decode_tokens_per_s ?? null;
  const tokens = rate === null ? "" : `, ${formatCount(rate)} tokens/s`;
  const validity = record === null || status === "failed" ? "" : `, ${record.validity}`;
  return `${status}${validity}${took}${tokens}${status === "failed" && why !== null ? `: ${why}` : ""}`;
}

/** Makes the runs of a plan, writes runs.csv and prints the summary. @returns the exit code */
export async function runPlan(plan: Plan, resume: boolean): Promise<number> {
  const { json, quiet, verbose, color, output } = plan.experiment.run;
  using signals = watchSignals();
  // Loaded on use: a plan makes no run.
  const { runExperiment } = await import("../experiment/run-experiment.ts");
  const say = (text: string): void => {
    if (!quiet) process.stderr.write(`${printable(text)}\n`);
  };
  using gift = rootsGift(output, say);
  const place = (index: number): string => `[${index + 1}/${plan.entries.length}]`;
  const name = (index: number): string => plan.entries[index]?.planned.run_id ?? "";
  const { results, exitCode } = await runExperiment({
    plan,
    resume,
    stopped: () => signals.received,
    onSignal: (act) =>
      signals.onFirst((signal) => {
        // A terminal has sent SIGINT to the run already: its process group is ours.
        if (signal === "SIGTERM" || !process.stdin.isTTY) act(signal);
      }),
    onStart: (_, index) => say(`${place(index)} ${name(index)}`),
    onEnd: (result, index) => say(`${place(index)} ${name(index)}: ${endText(result)}`),
    echo: (text) => {
      if (verbose) process.stderr.write(text);
    },
  });
  const runsCsv = makerOf(output).as(() => writeRunsCsv(output, plan.experiment.about.name, results));
  gift.add(runsCsv);
  if (json) process.stdout.write(`${toJson(sweepJson(plan, results, runsCsv, exitCode))}\n`);
  else if (!quiet) {
    const text = summaryText(
      plan.experiment.about.name,
      results,
      runsCsv,
      terminalOf(process.stdout, color, process.env),
    );
    process.stdout.write(text);
  }
  return exitCode;
}
