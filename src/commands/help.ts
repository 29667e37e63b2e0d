/** The text of --help: of one verb what fits a small terminal, of the program its verbs; --help-all explains all options. */
import type { ArgDef } from "citty";
import { flagWord, type Verb } from "./verb.ts";

/** Widest line, in columns. */
export const HELP_COLUMNS = 80;
/** Most lines of --help: a terminal of 24 shows them and the prompt below. */
export const HELP_LINES = 23;

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

interface Section {
  readonly rows: readonly (readonly [left: string, right: string])[];
  /** Lines below the rows. */
  readonly below: readonly string[];
}

function helpText(name: string, verb: Verb, { rows, below }: Section): string {
  const args = Object.entries(verb.args);
  const positionals = args.filter(([, arg]) => arg.type === "positional");
  const usage = [
    `mrm-trace ${name}`,
    ...(args.length > positionals.length ? ["[options]"] : []),
    ...positionals.map(([key, arg]) => positionalText(key, arg)),
    ...(verb.takesCommand ? ["[-- COMMAND [ARG ...]]"] : []),
  ];
  const places = positionals.map(([key, arg]) => [key.toUpperCase(), arg.description ?? ""] as const);
  const all = [...places, ...rows];
  return [
    ...wrap(verb.description, 0),
    "",
    `usage: ${usage.join(" ")}`,
    ...(all.length > 0 ? ["", ...twoColumns(all)] : []),
    ...(below.length > 0 ? ["", ...below] : []),
    "",
    `example: ${verb.example}`,
    "",
  ].join("\n");
}

function optionsOf(verb: Verb): [name: string, arg: ArgDef][] {
  return Object.entries(verb.args).filter(([, arg]) => arg.type !== "positional");
}

/** Help of one verb: its common options, the names of the others; at most HELP_LINES of HELP_COLUMNS columns. */
export function verbHelp(name: string, verb: Verb): string {
  const { common } = verb;
  if (common === null) return fullVerbHelp(name, verb);
  const options = optionsOf(verb);
  const rows = common.flatMap((key) => options.filter(([option]) => option === key));
  const others = options.filter(([key]) => !common.includes(key)).map(([key, arg]) => flagWord(key, arg).word);
  const also = "also: ";
  return helpText(name, verb, {
    rows: rows.map(([key, arg]) => optionRow(key, arg)),
    below: [
      ...wrap(others.join(" "), also.length).map((line, i) => (i === 0 ? also : " ".repeat(also.length)) + line),
      `mrm-trace ${name} --help-all explains each`,
    ],
  });
}

/** Help of one verb with every option. */
export function fullVerbHelp(name: string, verb: Verb): string {
  return helpText(name, verb, { rows: optionsOf(verb).map(([key, arg]) => optionRow(key, arg)), below: [] });
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
    "mrm-trace COMMAND --help: its options; mrm-trace --version: what this is",
    "",
  ].join("\n");
}
