/** `mrm-trace doctor`: what works on this machine, what does not, and what fixes it. */
import { defineCommand } from "citty";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { parseOptions, runSchema } from "../config/schema.ts";
import { printExamination } from "./examination-output.ts";

const schema = runSchema.pick({ output: true, json: true, color: true, debug: true });

export const doctorCommand = defineCommand({
  meta: {
    name: "doctor",
    description: "Examine this machine: what works, and the fix for what does not",
  },
  args: flagsOf(schema),
  async run({ args }) {
    return await printExamination(parseOptions(schema, givenOptions(schema, args)));
  },
});
