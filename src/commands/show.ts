/** `mrm-trace show`: what a finished run told, again. */
import { defineCommand } from "citty";
import { z } from "zod";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { parseOptions, runSchema } from "../config/schema.ts";
import { valueHints } from "../config/values.ts";
import { EXIT_CODES, MrmTraceError } from "../errors.ts";
import { CLASS_WORDS, classNames, ofClass } from "../report/classes.ts";
import { render, terminalOf } from "../report/terminal.ts";
import { shellWords } from "../run-directory/shell-words.ts";
import type { RunReport } from "../schema/run-json.ts";
import { printReport } from "./report-output.ts";

const schema = z.object({
  ...runSchema.pick({ table: true, json: true, color: true, debug: true }).shape,
  class: z
    .string()
    .optional()
    .describe("this class of data alone, such as weight, or a kind of mapping")
    .register(valueHints, { hint: "CLASS", words: CLASS_WORDS }),
  kv: z.boolean().default(false).describe("draw when each sequence wrote, kept and gave up its rows of the KV cache"),
});

/** The report with the rows of one class alone. @throws MrmTraceError usage, where the run has no such class */
function narrowed(report: RunReport, name: string | undefined): RunReport {
  if (name === undefined) return report;
  const names = classNames(report);
  if (names.includes(name)) return ofClass(report, name);
  throw new MrmTraceError("usage", `the run has no class "${name}"`, `give one of: ${names.join(", ")}`);
}

/** @throws MrmTraceError usage, where more is asked for than a drawing */
async function printRows(
  runDir: string,
  { json, table: isTable, class: one, color }: z.output<typeof schema>,
): Promise<number> {
  const other = [json && "--json", isTable && "--table", one !== undefined && "--class"].find((word) => word !== false);
  if (other !== undefined) {
    const table = shellWords(["mrm-trace", "export", runDir, "--format", "csv", "--table", "kv_block_lifecycle"]);
    const hint = `leave ${other} out; the rows as a table: ${table}`;
    throw new MrmTraceError("usage", `--kv is a drawing, which ${other} has no part in`, hint);
  }
  const { drawnRows } = await import("../pipelines/drawn-rows.ts");
  const terminal = terminalOf(process.stdout, color, process.env);
  process.stdout.write(render(await drawnRows(runDir, terminal), terminal));
  return EXIT_CODES.ok;
}

export const showCommand = defineCommand({
  meta: { name: "show", description: "Print what a finished run told, without deriving it again" },
  args: {
    run_dir: { type: "positional", description: "Folder of a run, such as results/MODEL/RUN_ID", required: true },
    ...flagsOf(schema),
  },
  async run({ args }) {
    const options = parseOptions(schema, givenOptions(schema, args));
    if (options.kv) return await printRows(args.run_dir, options);
    // Loaded on use: the tracer has the same entry point and must stay small.
    const { savedReport } = await import("../pipelines/saved-report.ts");
    const report = narrowed(savedReport(args.run_dir), options.class);
    return printReport(report, { ...options, quiet: false, stdoutIsTargets: false, isNew: false });
  },
});
