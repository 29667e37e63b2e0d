/** `mrm-trace scrub`: a run that can be shared. */
import { defineCommand } from "citty";
import { z } from "zod";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { parseOptions, runSchema } from "../config/schema.ts";
import { valueHints } from "../config/values.ts";
import { EXIT_CODES, MrmTraceError } from "../errors.ts";
import { createProgress } from "../report/progress.ts";
import { printable } from "../report/terminal.ts";
import { tellWorking } from "../report/working.ts";
import { inNumbers } from "../schema/ledger.ts";
import { unreadSources } from "../schema/loss.ts";
import { toJson } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { formatCounted } from "../units.ts";
import { interruptible } from "./interruptible.ts";

const schema = z.object({
  out: z
    .string()
    .min(1)
    .optional()
    .describe("folder for the scrubbed run, which becomes DIR/scrubbed/RUN_ID")
    .register(valueHints, { hint: "DIR" }),
  ...runSchema.pick({ run_id: true, force: true, json: true, quiet: true, debug: true }).shape,
});

export const scrubCommand = defineCommand({
  meta: { name: "scrub", description: "Copy a run so that it can be shared: no names, paths or addresses" },
  args: {
    run_dir: { type: "positional", description: "Folder of a run, such as results/MODEL/RUN_ID", required: true },
    ...flagsOf(schema),
  },
  async run({ args }) {
    const { out, run_id, force, json, quiet } = parseOptions(schema, givenOptions(schema, args));
    if (out === undefined) {
      throw new MrmTraceError(
        "usage",
        "--out is missing",
        `name a folder: mrm-trace scrub ${args.run_dir} --out shared`,
      );
    }
    const progress = createProgress(process.stderr, { quiet });
    const say = (line: string): void => {
      progress.clear();
      if (!quiet) process.stderr.write(`mrm-trace: ${printable(line)}\n`);
    };
    // Loaded on use: the tracer has the same entry point and must stay small.
    const { scrub } = await import("../pipelines/scrub.ts");
    using working = tellWorking(progress, "scrubbing");
    const { directory, comparison, report } = await interruptible((signal) =>
      scrub({ runDir: args.run_dir, out, run_id, force, say, signal }),
    );
    working[Symbol.dispose]();
    const { figures, different } = comparison;
    if (json) {
      const object = {
        schema_version: JSON_SCHEMA_VERSION,
        run_dir: directory.path,
        warnings: report.warnings,
        figures,
        different,
      };
      process.stdout.write(`${toJson(object)}\n`);
    } else {
      process.stdout.write(`${printable(directory.path)}\n`);
    }
    if (different === null) say("its figures were not compared: the original has none that can be read");
    else if (different.length === 0) say(`all ${formatCounted(figures, "figure")} are those of the original`);
    else {
      say(`${different.length} of ${formatCounted(figures, "figure")} differ from the original: ${different[0]}`);
      say(`  fix: derive the original by this version first: mrm-trace analyse ${args.run_dir}`);
    }
    const unread = unreadSources(inNumbers(report.ledger));
    if (unread.length === 0) return EXIT_CODES.ok;
    process.stderr.write(`mrm-trace: segments of the original cannot be read: no figures of ${unread.join(", ")}\n`);
    return EXIT_CODES.data_quality;
  },
});
