/** `mrm-trace export`: a finished run in the format of another tool. */
import { defineCommand } from "citty";
import { z } from "zod";
import { flagsOf, givenOptions } from "../../config/flags.ts";
import { parseOptions, runSchema } from "../../config/schema.ts";
import { valueHints } from "../../config/values.ts";
import { EXIT_CODES, MrmTraceError } from "../../errors.ts";
import { FORMAT_NAMES } from "../../export/formats.ts";
import { VALUE_NAMES } from "../../export/stacks/stack.ts";
import { createProgress } from "../../report/progress.ts";
import { printable } from "../../report/terminal.ts";
import { RUN_TABLES } from "../../run-directory/table-files.ts";
import { toJson } from "../../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../../schema/versions.ts";
import { formatBytes, formatCounted } from "../../units.ts";
import { interruptible } from "../interruptible.ts";

const schema = z.object({
  format: z
    .enum(FORMAT_NAMES)
    .optional()
    .describe(`what to make of it: ${FORMAT_NAMES.join(", ")}`)
    .register(valueHints, { hint: "FORMAT" }),
  out: z
    .string()
    .min(1)
    .optional()
    .describe("what to write; default: named after the run, in this folder")
    .register(valueHints, { hint: "PATH" }),
  table: z
    .string()
    .min(1)
    .optional()
    .describe("the table that arrow or csv holds, such as trace; default: metrics")
    .register(valueHints, { hint: "NAME", words: RUN_TABLES }),
  value: z
    .enum(VALUE_NAMES)
    .optional()
    .describe("what the lines of folded sum up; default: the first that the run has")
    .register(valueHints, { hint: "NAME" }),
  license: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9.+-]{0,63}$/, "a name of SPDX's list such as CC-BY-4.0 expected")
    .optional()
    .describe("licence of hf and zenodo by its SPDX name, such as CC-BY-4.0; default: none is named")
    .register(valueHints, { hint: "NAME" }),
  force: z.boolean().default(false).describe("replace what is there already"),
  ...runSchema.pick({ quiet: true, json: true, debug: true }).shape,
});

export const exportCommand = defineCommand({
  meta: { name: "export", description: "Write a finished run in the format of another tool" },
  args: {
    run_dir: { type: "positional", description: "Folder of a run, such as results/MODEL/RUN_ID", required: true },
    ...flagsOf(schema),
  },
  async run({ args }) {
    const { format, out, force, quiet, json, ...others } = parseOptions(schema, givenOptions(schema, args));
    if (format === undefined) {
      throw new MrmTraceError("usage", "no format was given", `add --format and one of ${FORMAT_NAMES.join(", ")}`);
    }
    const { table, value, license } = others;
    const choices = { table, value, license };
    // Loaded on use: every other command has the same entry point.
    const { exportRun } = await import("../../pipelines/export.ts");
    const progress = createProgress(process.stderr, { quiet });
    const request = { runDir: args.run_dir, format, out, force, choices, progress };
    const exported = await interruptible((signal) => exportRun({ ...request, signal })).finally(() => progress.clear());
    const { path, size_bytes, left_out, unreadable } = exported;
    const exit_code = unreadable.length > 0 ? EXIT_CODES.data_quality : EXIT_CODES.ok;
    const say = (line: string): void => void process.stderr.write(`mrm-trace: ${printable(line)}\n`);
    if (!quiet) for (const what of left_out) say(`left out: ${what}`);
    if (unreadable.length > 0) {
      say(`${formatCounted(unreadable.length, "segment")} of capture/ cannot be read: their rows are missing`);
      process.stderr.write("  fix: mrm-trace verify RUN_DIR names them; restore them from a copy\n");
    }
    if (json) {
      const object = { schema_version: JSON_SCHEMA_VERSION, format, path, size_bytes, left_out, unreadable, exit_code };
      process.stdout.write(`${toJson(object)}\n`);
    } else if (!quiet) process.stdout.write(`${printable(path)}: ${formatBytes(size_bytes)}\n`);
    return exit_code;
  },
});
