/** `mrm-trace what-if`: what the data of a finished run would do to memory devices. */
import { defineCommand } from "citty";
import { z } from "zod";
import { readDevice } from "../../config/device-file.ts";
import { presetNames } from "../../config/devices/preset-devices.ts";
import { flagsOf, givenOptions } from "../../config/flags.ts";
import { parseOptions, runSchema } from "../../config/schema.ts";
import { valueHints } from "../../config/values.ts";
import { MrmTraceError } from "../../errors.ts";
import { terminalOf } from "../../report/terminal.ts";
import { toJson } from "../../schema/run-json.ts";
import { givenWords } from "./given-words.ts";

const schema = z.object({
  device: z
    .string()
    .optional()
    .describe(`YAML file of a device, or one of ${presetNames().join(", ")}; again for each further tier`)
    .register(valueHints, { hint: "DEVICE", words: presetNames(), isFileToo: true }),
  ...runSchema.pick({ json: true, color: true, debug: true }).shape,
});

/** More tiers than any machine has. */
const MOST_DEVICES = 16;

export const whatIfCommand = defineCommand({
  meta: { name: "what-if", description: "Say what a run's data would do to memory devices" },
  args: {
    run_dir: { type: "positional", description: "Folder of a run, such as results/MODEL/RUN_ID", required: true },
    ...flagsOf(schema),
  },
  async run({ args, rawArgs }) {
    const { json, color } = parseOptions(schema, givenOptions(schema, args));
    const words = givenWords("device", rawArgs);
    if (words.length === 0 || words.length > MOST_DEVICES) {
      const received = words.length === 0 ? "none was given" : `${words.length} were given`;
      throw new MrmTraceError(
        "usage",
        `1 to ${MOST_DEVICES} devices expected, but ${received}`,
        `name a YAML file or a preset: --device ${presetNames()[0]}`,
      );
    }
    const devices = words.map(readDevice);
    // Loaded on use: every command has the same entry point.
    const { savedReport } = await import("../../pipelines/saved-report.ts");
    const { whatIf } = await import("../../what-if/what-if.ts");
    const { renderWhatIf } = await import("../../what-if/table.ts");
    const answer = whatIf(savedReport(args.run_dir), devices);
    const terminal = terminalOf(process.stdout, color, process.env);
    process.stdout.write(json ? `${toJson(answer)}\n` : renderWhatIf(answer, terminal));
  },
});
