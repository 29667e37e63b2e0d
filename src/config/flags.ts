/** The options of a zod schema as flags of the command line, so that help and checks come from one place. */
import type { ArgsDef } from "citty";
import { z } from "zod";

/** True where a schema takes true or false, defaults and optionals looked through. */
function isBoolean(schema: unknown): boolean {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return isBoolean(schema.unwrap());
  return schema instanceof z.ZodBoolean;
}

/** Flags for every option of the schema; a value is checked by the schema, not here. */
export function flagsOf(schema: z.ZodObject): ArgsDef {
  const flags: ArgsDef = {};
  for (const [name, option] of Object.entries(schema.shape)) {
    const description = (option as z.ZodType).description ?? "";
    flags[name.replaceAll("_", "-")] = isBoolean(option)
      ? { type: "boolean", description }
      : { type: "string", description };
  }
  return flags;
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

/** The known flag that is nearest to a misspelt one, by edit distance; null where none is near. */
export function nearestFlag(flag: string, flags: ArgsDef): string | null {
  let best: { name: string; distance: number } | null = null;
  const asked = flag.replace(/^-+/, "").toLowerCase();
  for (const name of wordsOf(flags)) {
    const distance = editDistance(asked, name);
    if (distance <= 3 && (best === null || distance < best.distance)) best = { name, distance };
  }
  return best === null ? null : `--${best.name}`;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
