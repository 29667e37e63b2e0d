/** A run against a budget as JUnit XML, which servers that build software read. */
import { printable } from "../report/terminal.ts";
import type { BudgetCheck, CheckedLimit } from "../schema/budget-check.ts";
import { limitText, sentence, subject } from "./words.ts";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** Text for an attribute or an element: what XML cannot hold, such as control characters, becomes `?`. */
export function xmlText(text: string): string {
  return printable(text)
    .replace(/[\ufffe\uffff]/g, "?")
    .replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

/** Beyond is a failure; open is an error, as the question could not be answered. */
const ELEMENTS = { beyond: "failure", open: "error" } as const;

function testCase(limit: CheckedLimit, budget: string): string {
  const { verdict } = limit;
  const head = `<testcase classname="${xmlText(limit.class ?? "run")}" name="${xmlText(`${subject(limit)}: ${limitText(limit)}`)}" file="${xmlText(budget)}" line="${limit.line}"`;
  if (verdict === "within") return `    ${head}/>`;
  const element = ELEMENTS[verdict];
  return `    ${head}><${element} message="${xmlText(sentence(limit))}" type="${verdict}"/></testcase>`;
}

/** The text of the file. */
export function junitXml(check: BudgetCheck): string {
  const count = (verdict: CheckedLimit["verdict"]): number =>
    check.checks.filter((one) => one.verdict === verdict).length;
  const counts = `tests="${check.checks.length}" failures="${count("beyond")}" errors="${count("open")}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${xmlText(check.name)}" hostname="${xmlText(check.run_id)}" ${counts}>`,
    ...check.checks.map((limit) => testCase(limit, check.budget)),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}
