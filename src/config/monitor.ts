/** THE options of `monitor`. */
import { z } from "zod";
import { duration, valueHints, whole } from "./values.ts";

export const monitorSchema = z.object({
  name: z
    .string()
    .min(1)
    .optional()
    .describe("name of the process, or a part of its command line")
    .register(valueHints, { hint: "NAME" }),
  pid: whole(1, 2 ** 22)
    .optional()
    .describe("process to watch, in place of a name")
    .register(valueHints, { hint: "PID" }),
  label: z
    .string()
    .default("")
    .describe("word for the label column; default: the name, or that of the process")
    .register(valueHints, { hint: "WORD" }),
  interval: duration
    .pipe(z.number().min(1e6, "at least 1ms expected"))
    .default(1e8)
    .describe("time between samples: seconds such as 0.1, or with a unit such as 100ms"),
  duration: duration.optional().describe("stop after this time of samples"),
  max_samples: whole(1, 1e12).optional().describe("stop after so many samples"),
  cooldown: duration.optional().describe("stop when memory, once risen, has been near its first level for this time"),
  wait: duration.optional().describe("give up where no such process appears in this time; default: wait on"),
  output: z
    .string()
    .min(1)
    .optional()
    .describe("CSV file to write; default: stdout")
    .register(valueHints, { hint: "FILE" }),
  force: z.boolean().default(false).describe("replace the file if it is there"),
  json: z.boolean().default(false).describe("print one JSON object on stdout at the end; needs --output"),
  quiet: z.boolean().default(false).describe("say nothing on stderr"),
  debug: z.boolean().default(false).describe("print stack traces"),
});
export type MonitorOptions = z.output<typeof monitorSchema>;
