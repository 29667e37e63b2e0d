/** What a budget does not keep as annotations of GitHub's runner, which reads them from the output of a step. */
import { printable } from "../report/terminal.ts";
import type { BudgetCheck } from "../schema/budget-check.ts";
import { summary } from "./table.ts";
import { sentence, subject } from "./words.ts";

/** Text of a message: no line of it can begin another command. */
const message = (text: string): string => printable(text).replaceAll("%", "%25");
/** Text of a property, which ends at a comma or a colon. */
const property = (text: string): string => message(text).replaceAll(":", "%3A").replaceAll(",", "%2C");

const COMMANDS = { beyond: "error", open: "warning" } as const;

/** A line for each limit that is not kept or cannot be told, and one on all of them. */
export function annotations(check: BudgetCheck): string {
  const lines = check.checks.flatMap((limit) => {
    if (limit.verdict === "within") return [];
    const place = `file=${property(check.budget)},line=${limit.line},title=${property(subject(limit))}`;
    return [`::${COMMANDS[limit.verdict]} ${place}::${message(sentence(limit))}`];
  });
  return [...lines, `budget ${message(summary(check))}`, ""].join("\n");
}
