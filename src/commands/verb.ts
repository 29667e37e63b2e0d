/** What the table of commands says of one verb. */
import type { ArgDef, ArgsDef, CommandDef } from "citty";

/** Options that serve one task. */
export interface OptionGroup {
  /** What a user wants to do. */
  readonly task: string;
  readonly options: readonly string[];
  /** A command line with some of them. */
  readonly example?: string;
}

export interface Verb {
  readonly description: string;
  readonly args: ArgsDef;
  /** The command as citty runs it; its `run` may return the exit code. */
  readonly command: CommandDef<ArgsDef>;
  /** A command line as a user would type it; `--help` prints it and a test parses it. */
  readonly example: string;
  /** True where words behind -- are a command to trace. */
  readonly takesCommand: boolean;
  /** True where its last word may stand several times. */
  readonly takesSeveral: boolean;
  /** True where it looks at other programs as root; the others give root up for the user behind sudo. */
  readonly isRootNeeded: boolean;
  /** True where its work sees signals itself, and ends in order; the others end at once. */
  readonly seesSignals: boolean;
  /** Options that --help explains, in its order; null for all. */
  readonly common: readonly string[] | null;
  /** All options by task, where they are many; null for few. */
  readonly groups: readonly OptionGroup[] | null;
  /** What to do about a word too many, WORD standing for it; null where the command itself looks at its words. */
  readonly surplus: string | null;
}

/** @throws TypeError where the command has no description or computes its options, as help and completions need both */
export function verb<T extends ArgsDef>(
  command: CommandDef<T>,
  example: string,
  rest: Partial<Pick<Verb, "takesCommand" | "takesSeveral" | "isRootNeeded" | "seesSignals" | "common" | "groups">> & {
    readonly surplus?: string;
  } = {},
): Verb {
  const { takesCommand = false, takesSeveral = false, isRootNeeded = false, seesSignals = false } = rest;
  const { common = null, groups = null } = rest;
  const { meta } = command;
  const args: unknown = command.args ?? {};
  if (typeof meta !== "object" || !("description" in meta) || typeof meta.description !== "string") {
    throw new TypeError(`the command of "${example}" has no description`);
  }
  if (!isPlain(args)) {
    throw new TypeError(`the options of "${example}" are not a plain object`);
  }
  // citty types a command by its own options; here only their names and texts matter.
  return {
    description: meta.description,
    args,
    command: command as CommandDef<ArgsDef>,
    example,
    takesCommand,
    takesSeveral,
    isRootNeeded,
    seesSignals,
    common,
    groups: groups?.map((group) => ({ ...group, options: group.options.filter((name) => name in args) })) ?? null,
    // Words behind -- belong to the command, and the verb that takes one tells them apart.
    surplus: takesCommand || takesSeveral ? null : (rest.surplus ?? `leave it out, such as: ${example}`),
  };
}

function isPlain(args: unknown): args is ArgsDef {
  return typeof args === "object" && args !== null && !(args instanceof Promise);
}

/** A flag as it is typed; what is on by itself, as it is switched off. */
export function flagWord(name: string, arg: ArgDef): { readonly word: string; readonly description: string } {
  const negative = arg.type === "boolean" ? arg.negativeDescription : undefined;
  return negative === undefined
    ? { word: `--${name}`, description: arg.description ?? "" }
    : { word: `--no-${name}`, description: negative };
}
