/** What a shell may complete, from the table of commands. */
import type { ArgDef } from "citty";
import type { Choices } from "../../config/choices.ts";
import type { Flag } from "../../config/flags.ts";
import { flagWord, type Verb } from "../verb.ts";

export interface OptionWords {
  /** With its dashes. */
  readonly word: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** Values; without words where any text, or a file, is one. */
  readonly choices: Choices;
}

export interface VerbWords {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionWords[];
  /** Words in the place of the first positional; none where it is a file or there is none. */
  readonly choices: readonly string[];
  readonly takesCommand: boolean;
}

const NO_CHOICES: Choices = { words: [], isList: false, isFileToo: false };

/** What the schema of the option says; of an option without one, the words of its hint. */
function choicesOf(arg: ArgDef | Flag | undefined): Choices {
  if (arg !== undefined && "choices" in arg && arg.choices) return arg.choices;
  const hint = arg?.valueHint ?? "";
  return hint.includes("|") ? { ...NO_CHOICES, words: hint.split("|") } : NO_CHOICES;
}

function optionOf(name: string, arg: ArgDef): OptionWords {
  return {
    ...flagWord(name, arg),
    takesValue: arg.type !== "boolean",
    choices: choicesOf(arg),
  };
}

const HELP: OptionWords = {
  word: "--help",
  description: "What the command does",
  takesValue: false,
  choices: NO_CHOICES,
};
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
      choices: choicesOf(all.find(([, arg]) => arg.type === "positional")?.[1]).words,
      takesCommand,
    };
  });
}
