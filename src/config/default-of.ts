/** Values and defaults of options as a file would say them. */
import { z } from "zod";
import { runSchema } from "./schema.ts";
import { bare } from "./schema-keys.ts";
import { duration, size } from "./values.ts";

const SIZE_UNITS = [
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
  ["B", 1],
] as const;

/** True where the schema is that quantity, with whatever comes before it and what it is held against. */
function isQuantity(schema: z.ZodType, quantity: z.ZodType): boolean {
  const inner = bare(schema);
  return inner === quantity || (inner instanceof z.ZodPipe && isQuantity(inner.in as z.ZodType, quantity));
}

/** A value as a file would say it: quantities with their unit. */
export function optionText(schema: z.ZodType, value: unknown): unknown {
  if (isQuantity(schema, duration) && typeof value === "number")
    return value % 1e9 === 0 ? `${value / 1e9}s` : `${value / 1e6}ms`;
  if (isQuantity(schema, size) && typeof value === "number") {
    const [unit, bytes] = SIZE_UNITS.find(([, factor]) => value % factor === 0) ?? ["B", 1];
    return `${value / bytes}${unit}`;
  }
  return value;
}

/** The default of a key; undefined where it has none. */
export function defaultOf(schema: z.ZodType): unknown {
  return schema instanceof z.ZodDefault ? optionText(schema, schema.def.defaultValue) : undefined;
}

/** A recorded option of a run as its command line would say it; one that is unknown here, or no option's value, as it is. */
export function runOptionText(name: string, value: unknown): unknown {
  const schema = new Map<string, z.ZodType>(Object.entries(runSchema.shape)).get(name);
  const said = schema === undefined ? value : optionText(schema, value);
  return Array.isArray(said) && said.every((one) => typeof one === "string") ? said.join(",") : said;
}
