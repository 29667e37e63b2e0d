/** The words that an option takes, from its schema: what a shell may complete. */
import { z } from "zod";
import { bare } from "./schema-keys.ts";
import { itemsOf } from "./type-text.ts";
import { valueHints } from "./values.ts";

export interface Choices {
  readonly words: readonly string[];
  /** True where several may be given with commas between. */
  readonly isList: boolean;
  /** True where the path of a file is right too. */
  readonly isFileToo: boolean;
}

/** Null where any text, number or quantity may stand. */
export function choicesOf(schema: z.ZodType): Choices | null {
  const items = itemsOf(schema);
  const one = items ?? bare(schema);
  const { words = null, isFileToo = false } = valueHints.get(schema) ?? {};
  const found = words ?? (one instanceof z.ZodEnum ? one.options.map(String) : null);
  return found === null ? null : { words: found, isList: items !== null, isFileToo };
}
