/** The report where the user wants it: one JSON object on stdout, or the table on a terminal's stdout, else on stderr. */
import { renderRun } from "../report/table.ts";
import { type ColorChoice, terminalOf } from "../report/terminal.ts";
import { encodeRun, type RunReport, toJson } from "../schema/run-json.ts";

export interface OutputChoice {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly color: ColorChoice;
  /** True where stdout belongs to the command that was traced unless it is a terminal. */
  readonly stdoutIsTargets: boolean;
}

/** Quiet is without a table, not without a word on what failed. */
function tellFailure({ exit_code, signal }: RunReport["target"]): void {
  if (signal === null && (exit_code === null || exit_code === 0)) return;
  const how = signal === null ? `with exit code ${exit_code}` : `by ${signal}`;
  process.stderr.write(`mrm-trace: the command ended ${how}\n`);
}

export function printReport(report: RunReport, choice: OutputChoice): void {
  if (choice.json) {
    process.stdout.write(`${toJson(encodeRun(report))}\n`);
    return;
  }
  if (choice.quiet) {
    tellFailure(report.target);
    return;
  }
  const stream = process.stdout.isTTY || !choice.stdoutIsTargets ? process.stdout : process.stderr;
  stream.write(renderRun(report, terminalOf(stream, choice.color, process.env)));
}
