/** A zod schema as a JSON Schema of draft 2020-12: of what a file or an output holds, before it is decoded. */
import { z } from "zod";

/** @returns an object of JSON alone; the same for the same schema */
export function jsonSchemaOf(schema: z.ZodType, about: { readonly title: string; readonly description: string }) {
  const made = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io: "input",
    // That a value is not changed in memory says nothing of the file.
    override: ({ jsonSchema }) => {
      delete jsonSchema.readOnly;
    },
  });
  const { $schema, ...rest } = made;
  return { $schema, ...about, ...rest };
}
