/** Options given by a program: the schemas of the command line, without what belongs to a terminal or leaves out the report. */
import type { z } from "zod";
import { nearestWord } from "../config/nearest-word.ts";
import { parseOptions } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";

const NOT_FOR_PROGRAMS = ["json", "quiet", "verbose", "debug", "color", "record_only"] as const;

/** What a program may give of a schema: numbers or text as the schema reads them. */
export type ProgramOptions<S extends z.ZodObject> = Omit<z.input<S>, (typeof NOT_FOR_PROGRAMS)[number]>;

/**
 * The options, checked, with the defaults of the others.
 * @param where what stands before a name in messages
 * @throws MrmTraceError usage, at a name that is no option and at a value that an option does not take
 */
export function programOptions<S extends z.ZodObject>(schema: S, given: ProgramOptions<S>, where = ""): z.output<S> {
  const hidden: readonly string[] = NOT_FOR_PROGRAMS;
  const names = Object.keys(schema.shape).filter((name) => !hidden.includes(name));
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    const nearest = nearestWord(name, names);
    const hint = nearest === null ? `use one of ${names.join(", ")}` : `did you mean ${where}${nearest}?`;
    throw new MrmTraceError("usage", `unknown option ${where}${name}`, hint);
  }
  return parseOptions(schema, { ...given });
}
