/** The text of --help: of one verb what fits a screen, of the program its verbs. */
import type { ArgDef } from "citty";
import { flagWord, type Verb } from "./verb.ts";

/** Widest line, in columns. */
export const HELP_COLUMNS = 100;

/** `--name HINT` of an option, and its text. */
function optionRow(name: string, arg: ArgDef): readonly [string, string] {
  const { word, description } = flagWord(name, arg);
  return [arg.type === "boolean" ? word : `${word} ${arg.valueHint ?? "VALUE"}`, description];
}

function positionalText(name: string, arg: ArgDef): string {
  const word = name.toUpperCase();
  return arg.required === false ? `[${word}]` : word;
}

/** `text` in lines that leave room for `indent` columns before them. */
function wrap(text: string, indent: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent + line.length + 1 + word.length > HELP_COLUMNS) {
      lines.push(line);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  return [...lines, line];
}

/** Rows of two columns, the second one wrapped. */
function twoColumns(rows: readonly (readonly [left: string, right: string])[]): string[] {
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  const indent = width + 4;
  return rows.flatMap(([left, right]) =>
    wrap(right, indent).map((line, i) => `  ${(i === 0 ? left : "").padEnd(width)}  ${line}`.trimEnd()),
  );
}

/** Help of one verb: at most 40 lines of HELP_COLUMNS columns, which a test holds for all. */
export function verbHelp(name: string, verb: Verb): string {
  const args = Object.entries(verb.args);
  const positionals = args.filter(([, arg]) => arg.type === "positional");
  const options = args.filter(([, arg]) => arg.type !== "positional");
  const usage = [
    `mrm-trace ${name}`,
    ...(options.length > 0 ? ["[options]"] : []),
    ...positionals.map(([key, arg]) => positionalText(key, arg)),
    ...(verb.takesCommand ? ["[-- COMMAND [ARG ...]]"] : []),
  ];
  const rows = [
    ...positionals.map(([key, arg]) => [key.toUpperCase(), arg.description ?? ""] as const),
    ...options.map(([key, arg]) => optionRow(key, arg)),
  ];
  return [
    ...wrap(verb.description, 0),
    "",
    `usage: ${usage.join(" ")}`,
    ...(rows.length > 0 ? ["", ...twoColumns(rows)] : []),
    "",
    `example: ${verb.example}`,
    "",
  ].join("\n");
}

/** Help of the program. */
export function programHelp(description: string, verbs: Readonly<Record<string, Verb>>): string {
  const rows = Object.entries(verbs).map(([name, { description: does }]) => [name, does] as const);
  return [
    ...wrap(description, 0),
    "",
    "usage: mrm-trace COMMAND [options]",
    "",
    ...twoColumns(rows),
    "",
    "mrm-trace COMMAND --help lists the options of a command; mrm-trace --version says what this is",
    "",
  ].join("\n");
}
