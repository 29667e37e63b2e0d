/** The report where the user wants it: one JSON object on stdout, or the answer or the table on a terminal's stdout, else on stderr. */
import { EXIT_CODES } from "../errors.ts";
import { renderAnswer } from "../report/answer.ts";
import { renderRun } from "../report/table.ts";
import { type ColorChoice, printable, terminalOf } from "../report/terminal.ts";
import { shellWords } from "../run-directory/shell-words.ts";
import { inNumbers } from "../schema/ledger.ts";
import { unreadSources } from "../schema/loss.ts";
import { encodeRun, NO_ROOM_FOR_PAGE, type RunReport, toJson } from "../schema/run-json.ts";

export interface OutputChoice {
  readonly json: boolean;
  readonly quiet: boolean;
  /** True for every figure, false for the answer. */
  readonly table: boolean;
  readonly color: ColorChoice;
  /** True where stdout belongs to the command that was traced unless it is a terminal. */
  readonly stdoutIsTargets: boolean;
  /** True where it was derived just now: what could not be written of it is told, and is a failure. */
  readonly isNew: boolean;
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
    `mrm-trace: segments of capture/ cannot be read or are missing: no figures of ${unread.join(", ")}\n  fix: mrm-trace verify ${printable(report.run_dir)} names what was lost since; restore it from a copy, and analyse again\n`,
  );
  return EXIT_CODES.data_quality;
}

/** The figures are whole without their page, and it can be made of them later. @returns the exit code */
function tellNoPage({ warnings, run_dir }: RunReport): number {
  const warning = warnings.find((text) => text.startsWith(NO_ROOM_FOR_PAGE));
  if (warning === undefined) return EXIT_CODES.ok;
  const fix = `free space there; then: ${shellWords(["mrm-trace", "report", run_dir])}`;
  process.stderr.write(`mrm-trace: ${printable(warning)}\n  fix: ${printable(fix)}\n`);
  return EXIT_CODES.environment;
}

/**
 * Prints the report.
 * @returns the exit code that follows from it: data_quality where not all that was recorded was read, environment where
 *   the disk had no room for its page
 */
export function printReport(report: RunReport, choice: OutputChoice): number {
  print(report, choice);
  const unread = tellUnread(report);
  const noPage = choice.isNew ? tellNoPage(report) : EXIT_CODES.ok;
  return unread === EXIT_CODES.ok ? noPage : unread;
}

function print(report: RunReport, choice: OutputChoice): void {
  if (choice.json) {
    process.stdout.write(`${toJson(encodeRun(report))}\n`);
    return;
  }
  if (choice.quiet) {
    tellFailure(report.target);
    return;
  }
  const stream = process.stdout.isTTY || !choice.stdoutIsTargets ? process.stdout : process.stderr;
  const draw = choice.table ? renderRun : renderAnswer;
  stream.write(draw(report, terminalOf(stream, choice.color, process.env)));
}
