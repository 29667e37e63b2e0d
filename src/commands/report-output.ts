/** The report where the user wants it: one JSON object on stdout, or the answer or the table on a terminal's stdout, else on stderr. */
import { EXIT_CODES } from "../errors.ts";
import { renderAnswer } from "../report/answer.ts";
import { renderRun } from "../report/table.ts";
import { type ColorChoice, terminalOf } from "../report/terminal.ts";
import { inNumbers } from "../schema/ledger.ts";
import { unreadSources } from "../schema/loss.ts";
import { encodeRun, type RunReport, toJson } from "../schema/run-json.ts";

export interface OutputChoice {
  readonly json: boolean;
  readonly quiet: boolean;
  /** True for every figure, false for the answer. */
  readonly table: boolean;
  readonly color: ColorChoice;
  /** True where stdout belongs to the command that was traced unless it is a terminal. */
  readonly stdoutIsTargets: boolean;
}

/** Quiet is without a result, not without a word on what failed. */
function tellFailure({ exit_code, signal }: RunReport["target"]): void {
  if (signal === null && (exit_code === null || exit_code === 0)) return;
  const how = signal === null ? `with exit code ${exit_code}` : `by ${signal}`;
  process.stderr.write(`mrm-trace: the command ended ${how}\n`);
}

/** Not even who wants silence may take the figures for those of the whole run. @returns the exit code */
function tellUnread(report: RunReport): number {
  const unread = unreadSources(inNumbers(report.ledger));
  if (unread.length === 0) return EXIT_CODES.ok;
  process.stderr.write(
    `mrm-trace: segments of capture/ cannot be read or are missing: no figures of ${unread.join(", ")}\n  fix: mrm-trace verify ${report.run_dir} names what was lost since; restore it from a copy, and analyse again\n`,
  );
  return EXIT_CODES.data_quality;
}

/** Prints the report. @returns the exit code that follows from it: data_quality where not all that was recorded was read */
export function printReport(report: RunReport, choice: OutputChoice): number {
  if (choice.json) {
    process.stdout.write(`${toJson(encodeRun(report))}\n`);
    return tellUnread(report);
  }
  if (choice.quiet) {
    tellFailure(report.target);
    return tellUnread(report);
  }
  const stream = process.stdout.isTTY || !choice.stdoutIsTargets ? process.stdout : process.stderr;
  const draw = choice.table ? renderRun : renderAnswer;
  stream.write(draw(report, terminalOf(stream, choice.color, process.env)));
  return tellUnread(report);
}
