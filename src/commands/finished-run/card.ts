/** `mrm-trace card`: one page of evidence for a finished run, as for the appendix of a paper. */
import { defineCommand } from "citty";
import { z } from "zod";
import packageJson from "../../../package.json" with { type: "json" };
import { flagsOf, givenOptions } from "../../config/flags.ts";
import { parseOptions, runSchema } from "../../config/schema.ts";
import { valueHints } from "../../config/values.ts";
import { toJson } from "../../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../../schema/versions.ts";
import { formatBytes } from "../../units.ts";
import { writeResult } from "./write-result.ts";

const schema = z.object({
  out: z
    .string()
    .min(1)
    .optional()
    .describe("write it to this file; default: stdout")
    .register(valueHints, { hint: "FILE" }),
  force: z.boolean().default(false).describe("replace the file that is there already"),
  ...runSchema.pick({ json: true, debug: true }).shape,
});

export const cardCommand = defineCommand({
  meta: { name: "card", description: "Write a Markdown page of evidence for a run, as for an appendix" },
  args: {
    run_dir: { type: "positional", description: "Folder of a run, such as results/MODEL/RUN_ID", required: true },
    ...flagsOf(schema),
  },
  async run({ args }) {
    const { out, force, json } = parseOptions(schema, givenOptions(schema, args));
    // Loaded on use: every command has the same entry point.
    const { savedEvidence } = await import("../../pipelines/saved-evidence.ts");
    const { cardText } = await import("../../card/card.ts");
    const text = cardText({ ...(await savedEvidence(args.run_dir)), version: packageJson.version });
    if (out !== undefined) writeResult(out, text, "--out", force);
    const written = out === undefined ? text : `${out}: ${formatBytes(Buffer.byteLength(text))}\n`;
    const object = { schema_version: JSON_SCHEMA_VERSION, run_dir: args.run_dir, path: out ?? null, markdown: text };
    process.stdout.write(json ? `${toJson(object)}\n` : written);
  },
});
