/** The keys of a schema, one by one: for suggestions, for the page of options and for the file of defaults. */
import { z } from "zod";

export interface SchemaKey {
  /** From the top, such as `["sweep", "batch_sizes"]`; items of a list are `[]`. */
  readonly path: readonly string[];
  readonly schema: z.ZodType;
}

/** The schema behind defaults, optionals and preprocessing; of a choice that has a mapping, the mapping. */
export function bare(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodUnion) {
    const mapping = (schema.options as readonly z.ZodType[]).map(bare).find((option) => option instanceof z.ZodObject);
    return mapping ?? schema;
  }
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return bare(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe && schema.in instanceof z.ZodTransform) return bare(schema.out as z.ZodType);
  return schema;
}

/** Every key below a schema, in order, mappings before what is in them. */
export function keysOf(schema: z.ZodType, path: readonly string[] = []): SchemaKey[] {
  const inner = bare(schema);
  if (inner instanceof z.ZodArray) return keysOf(inner.element as z.ZodType, [...path, "[]"]);
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, child]) => {
    const keyPath = [...path, name];
    return [{ path: keyPath, schema: child }, ...keysOf(child, keyPath)];
  });
}

/** A path as it is written: `models[0].id`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (part === "[]") return `${text}[]`;
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? String(part) : `${text}.${String(part)}`;
  }, "");
}
