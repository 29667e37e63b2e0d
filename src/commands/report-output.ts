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

export function printReport(report: RunReport, choice: OutputChoice): void {
  if (choice.json) {
    process.stdout.write(`${toJson(encodeRun(report))}\n`);
    return;
  }
  if (choice.quiet) return;
  const stream = process.stdout.isTTY || !choice.stdoutIsTargets ? process.stdout : process.stderr;
  stream.write(renderRun(report, terminalOf(stream, choice.color, process.env)));
}
