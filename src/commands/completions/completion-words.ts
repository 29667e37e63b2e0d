/** What a shell may complete, from the table of commands. */
import type { ArgDef } from "citty";
import { flagWord, type Verb } from "../verb.ts";

export interface OptionWords {
  /** With its dashes. */
  readonly word: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** Values; none where any text, or a file, is one. */
  readonly choices: readonly string[];
}

export interface VerbWords {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionWords[];
  /** Words in the place of the first positional; none where it is a file or there is none. */
  readonly choices: readonly string[];
  readonly takesCommand: boolean;
}

function choicesOf(arg: ArgDef | undefined): readonly string[] {
  const hint = arg?.valueHint ?? "";
  return hint.includes("|") ? hint.split("|") : [];
}

function optionOf(name: string, arg: ArgDef): OptionWords {
  return {
    ...flagWord(name, arg),
    takesValue: arg.type !== "boolean",
    choices: choicesOf(arg),
  };
}

const HELP: OptionWords = { word: "--help", description: "What the command does", takesValue: false, choices: [] };
const HELP_ALL: OptionWords = { ...HELP, word: "--help-all", description: "The same with every option" };

/** Verbs in the order of the table; every one takes --help, and --help-all where that says more. */
export function verbWords(verbs: Readonly<Record<string, Verb>>): VerbWords[] {
  return Object.entries(verbs).map(([name, { description, args, takesCommand, common }]) => {
    const all = Object.entries(args);
    return {
      name,
      description,
      options: [
        ...all.filter(([, arg]) => arg.type !== "positional").map(([key, arg]) => optionOf(key, arg)),
        HELP,
        ...(common === null ? [] : [HELP_ALL]),
      ],
      choices: choicesOf(all.find(([, arg]) => arg.type === "positional")?.[1]),
      takesCommand,
    };
  });
}
