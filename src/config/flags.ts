/** The options of a zod schema as flags of the command line, so that help and checks come from one place. */
import type { ArgsDef } from "citty";
import { z } from "zod";
import { type Choices, choicesOf } from "./choices.ts";
import { defaultOf, optionText } from "./default-of.ts";
import { nearestWord } from "./nearest-word.ts";
import { hintText } from "./type-text.ts";

/** True where a schema takes true or false, defaults and optionals looked through. */
export function isBoolean(schema: unknown): boolean {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return isBoolean(schema.unwrap());
  return schema instanceof z.ZodBoolean;
}

/** A flag, with the words that it takes where these are known; null where they are not. */
export type Flag = ArgsDef[string] & { readonly choices?: Choices | null };

/** One option as a flag, its default in brackets behind its description. */
function flagOf(option: z.ZodType): Flag {
  const { description = "" } = option;
  const ordinary = defaultOf(option);
  if (isBoolean(option)) {
    // What is on by itself is there to be switched off.
    return {
      type: "boolean",
      description,
      ...(ordinary === true ? { negativeDescription: `off: ${description}` } : {}),
    };
  }
  return {
    type: "string",
    description: ordinary === undefined || ordinary === "" ? description : `${description} [${ordinary}]`,
    valueHint: hintText(option),
    choices: choicesOf(option),
  };
}

/** Flags for every option of the schema; a value is checked by the schema, not here. */
export function flagsOf(schema: z.ZodObject): Record<string, Flag> {
  return Object.fromEntries(
    Object.entries(schema.shape).map(([name, option]) => [name.replaceAll("_", "-"), flagOf(option as z.ZodType)]),
  );
}

/** What the command line gave for the options of a schema, under their own names. */
export function givenOptions(schema: z.ZodObject, args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.keys(schema.shape)
      .map((name) => [name, args[name.replaceAll("_", "-")]] as const)
      .filter(([, value]) => value !== undefined),
  );
}

/** Every word after -- that is a flag: the names, and for what is on or off the name with no- before it. */
function wordsOf(flags: ArgsDef): Set<string> {
  const words = new Set(["help"]);
  for (const [name, flag] of Object.entries(flags)) {
    words.add(name);
    if (flag.type === "boolean") words.add(`no-${name}`);
  }
  return words;
}

/** The first flag of the command line that no schema knows; null where all are known. */
export function unknownFlag(args: readonly string[], flags: ArgsDef): string | null {
  const words = wordsOf(flags);
  for (const arg of args) {
    // A single dash before a digit begins a value.
    const flag = /^(?:--[^=]+|-[A-Za-z][^=]*)/.exec(arg)?.[0];
    if (flag !== undefined && flag !== "-h" && !words.has(flag.replace(/^--/, ""))) return flag;
  }
  return null;
}

/** A flag that is on or off, and was given a value that is neither; null where there is none. */
export function switchWithValue(
  args: readonly string[],
  flags: ArgsDef,
): { readonly flag: string; readonly value: string } | null {
  for (const arg of args) {
    const [, flag = "", value = ""] = /^(--[^=]+)=(.*)$/s.exec(arg) ?? [];
    const isOff = flag.startsWith("--no-") && flags[flag.slice(5)]?.type === "boolean";
    const isOn = flags[flag.slice(2)]?.type === "boolean" && value !== "true" && value !== "false";
    if (isOff || isOn) return { flag, value };
  }
  return null;
}

/** The known flag that is nearest to a misspelt one; null where none is near. */
export function nearestFlag(flag: string, flags: ArgsDef): string | null {
  const name = nearestWord(flag.replace(/^-+/, ""), wordsOf(flags));
  return name === null ? null : `--${name}`;
}

/** Options as words of a command line: all that are not as they are by default, in the order of the schema. */
export function optionWords(schema: z.ZodObject, options: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, option]) => {
    const value = options[name];
    const ordinary = option instanceof z.ZodDefault ? String(defaultOf(option)) : undefined;
    const text = String(optionText(option, value));
    if (value === undefined || text === ordinary) return [];
    const flag = name.replaceAll("_", "-");
    if (isBoolean(option)) return [value === true ? `--${flag}` : `--no-${flag}`];
    return [`--${flag}`, text];
  });
}
