/** `mrm-trace report`: the page of a finished run, or of several side by side. */
import { defineCommand } from "citty";
import { z } from "zod";
import { flagsOf, givenOptions } from "../../config/flags.ts";
import { parseOptions, runSchema } from "../../config/schema.ts";
import { valueHints } from "../../config/values.ts";
import { EXIT_CODES, MrmTraceError } from "../../errors.ts";

const schema = z.object({
  out: z
    .string()
    .min(1)
    .optional()
    .describe("file to write; default: report.html of the run, or mrm-trace-report.html here for several")
    .register(valueHints, { hint: "FILE" }),
  force: z
    .boolean()
    .default(false)
    .describe("replace the file that is there already; report.html of the run always is"),
  open: z.boolean().default(false).describe("open it in the browser"),
  ...runSchema.pick({ debug: true }).shape,
});

/** More would not fit side by side on any screen. */
const MOST_RUNS = 8;

/** Hands a file to the desktop's browser. @throws MrmTraceError environment where there is none */
async function openPage(path: string): Promise<void> {
  const opener = Bun.which("xdg-open");
  if (opener !== null) {
    const { exited } = Bun.spawn([opener, path], { stdio: ["ignore", "ignore", "ignore"] });
    if ((await exited) === 0) return;
  }
  const why = opener === null ? "there is no xdg-open" : "xdg-open failed";
  throw new MrmTraceError("environment", `${why} to open ${path}`, `open it yourself: file://${path}`);
}

export const reportCommand = defineCommand({
  meta: { name: "report", description: "Make report.html of a finished run, or of several side by side" },
  args: {
    run_dir: {
      type: "positional",
      description: "Folder of a run, such as results/MODEL/RUN_ID; several side by side",
      required: true,
    },
    ...flagsOf(schema),
  },
  async run({ args }) {
    const options = parseOptions(schema, givenOptions(schema, args));
    const runDirs = args._.map(String);
    if (runDirs.length > MOST_RUNS) {
      throw new MrmTraceError("usage", `${runDirs.length} runs are too many for one page`, `name at most ${MOST_RUNS}`);
    }
    // Loaded on use: the tracer has the same entry point and must stay small.
    const { reportPage } = await import("../../pipelines/report-page.ts");
    const path = await reportPage(runDirs, options.out ?? null, options.force);
    process.stdout.write(`${path}\n`);
    if (options.open) await openPage(path);
    return EXIT_CODES.ok;
  },
});
