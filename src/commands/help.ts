/** The text of --help: of one verb what fits a small terminal, of the program its verbs; --help-all explains all options. */
import type { ArgDef } from "citty";
import { flagWord, type OptionGroup, type Verb } from "./verb.ts";

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

/** Rows of two columns, the second one wrapped. @param width of the first column */
function twoColumns(
  rows: readonly (readonly [left: string, right: string])[],
  width = Math.max(0, ...rows.map(([left]) => left.length)),
): string[] {
  const indent = width + 4;
  return rows.flatMap(([left, right]) =>
    wrap(right, indent).map((line, i) => `  ${(i === 0 ? left : "").padEnd(width)}  ${line}`.trimEnd()),
  );
}

type Row = readonly [left: string, right: string];

interface Section {
  readonly rows: readonly Row[];
  /** Lines below the rows. */
  readonly below: readonly string[];
}

/** Words behind a title, in lines that begin below the first of them. */
function titled(title: string, words: readonly string[]): string[] {
  const begin = `${title}: `;
  return wrap(words.join(" "), begin.length).map((line, i) => (i === 0 ? begin : " ".repeat(begin.length)) + line);
}

function helpText(name: string, verb: Verb, { rows, below }: Section): string {
  const args = Object.entries(verb.args);
  const positionals = args.filter(([, arg]) => arg.type === "positional");
  const usage = [
    `mrm-trace ${name}`,
    ...(args.length > positionals.length ? ["[options]"] : []),
    ...positionals.map(([key, arg]) => positionalText(key, arg)),
    ...(verb.takesSeveral ? ["[...]"] : []),
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
  return helpText(name, verb, {
    rows: rows.map(([key, arg]) => optionRow(key, arg)),
    below: [...titled("also", others), `mrm-trace ${name} --help-all explains each${verb.groups ? ", by task" : ""}`],
  });
}

/** Options by task, each with its example; those of no task last. */
function byTask(verb: Verb, groups: readonly OptionGroup[]): Section {
  const options = optionsOf(verb);
  const grouped = new Set(groups.flatMap((group) => group.options));
  const rest = options.map(([key]) => key).filter((key) => !grouped.has(key));
  const all = [...groups, { task: "others", options: rest }].filter((group) => group.options.length > 0);
  const rowsOf = (names: readonly string[]): Row[] =>
    names.flatMap((name) => options.filter(([key]) => key === name)).map(([key, arg]) => optionRow(key, arg));
  const rows = all.map((group) => rowsOf(group.options));
  const width = Math.max(...rows.flat().map(([left]) => left.length));
  return {
    rows: [],
    below: all.flatMap(({ task, example }, i) => [
      ...(i === 0 ? [] : [""]),
      `${task}:`,
      ...twoColumns(rows[i] ?? [], width),
      ...(example === undefined ? [] : [`  such as: ${example}`]),
    ]),
  };
}

/** Help of one verb with every option. */
export function fullVerbHelp(name: string, verb: Verb): string {
  if (verb.groups !== null) return helpText(name, verb, byTask(verb, verb.groups));
  return helpText(name, verb, { rows: optionsOf(verb).map(([key, arg]) => optionRow(key, arg)), below: [] });
}

/**
 * Help of the program: what it is, its verbs, and how to learn more.
 * @param common verbs that are explained, the others being named; null explains all
 */
export function programHelp(
  description: string,
  verbs: Readonly<Record<string, Verb>>,
  common: readonly string[] | null,
): string {
  const names = Object.keys(verbs);
  const others = common === null ? [] : names.filter((name) => !common.includes(name));
  const rows = names
    .filter((name) => !others.includes(name))
    .map((name) => [name, verbs[name]?.description ?? ""] as const);
  return [
    ...wrap(description, 0),
    "",
    "usage: mrm-trace COMMAND [options]",
    "",
    ...twoColumns(rows),
    "",
    ...(others.length === 0 ? [] : [...titled("also", others), "mrm-trace --help-all says what each does"]),
    "mrm-trace help COMMAND: its options; mrm-trace --version: what this is",
    "",
  ].join("\n");
}
