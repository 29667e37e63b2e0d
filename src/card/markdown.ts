/** Text from outside inside a Markdown page: as code, in which nothing is markup, a link or HTML. */
import { printable } from "../report/terminal.ts";

/** A code span of the text on one line, fenced by more backquotes than it has in a row. */
export function code(text: string): string {
  const line = printable(text).trim();
  if (line === "") return "(nothing)";
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return `${fence}${pad}${line}${pad}${fence}`;
}

/** A code span for a cell of a table, which a bar would end. */
export const codeCell = (text: string): string => code(text.replaceAll("|", "/"));

/** A table of cells that are Markdown already. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}
