/** `mrm-trace config`: the options at their defaults, or those that hold and where each comes from. */
import { defineCommand } from "citty";
import { stringify } from "yaml";
import { defaultOptions, defaultYaml } from "../config/config-pages.ts";
import type { Effective } from "../config/effective.ts";
import { flagsOf, givenOptions } from "../config/flags.ts";
import { demoSchema, parseOptions, runSchema, sweepFlagsSchema } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";
import { toJson } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { readOptions } from "./experiment.ts";

/** `budget: 2  # --budget`, by section; an option that nothing gives is commented out. */
function shownOptions({ options }: Effective): string {
  const sections = new Map<string, string[]>();
  for (const { key, value, from } of options) {
    const [section = "", name = ""] = key.split(".");
    const lines = sections.get(section) ?? [];
    const text = stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trim();
    lines.push(value === null ? `  # ${name}:` : `  ${name}: ${text}  # ${from}`);
    sections.set(section, lines);
  }
  return [...sections].flatMap(([section, lines]) => [`${section}:`, ...lines, ""]).join("\n");
}

export const configCommand = defineCommand({
  meta: { name: "config", description: "Print the options of runs: `default`, or `show` what holds here" },
  args: {
    what: { type: "positional", required: false, valueHint: "default|show", description: "which options" },
    ...flagsOf(sweepFlagsSchema.pick({ config: true })),
    ...flagsOf(runSchema),
    ...flagsOf(demoSchema),
  },
  run({ args }) {
    if (args.what === "default") {
      const object = { schema_version: JSON_SCHEMA_VERSION, config: null, options: defaultOptions() };
      process.stdout.write(args.json ? `${toJson(object)}\n` : defaultYaml());
      return;
    }
    if (args.what !== "show") {
      const received = args.what === undefined ? "nothing" : `"${String(args.what)}"`;
      throw new MrmTraceError(
        "usage",
        `default or show expected, but received ${received}`,
        "run: mrm-trace config show",
      );
    }
    const { config, max_runs } = parseOptions(sweepFlagsSchema, givenOptions(sweepFlagsSchema, args));
    const effective = readOptions(args, config, max_runs);
    const { json } = effective.run;
    const object = { schema_version: JSON_SCHEMA_VERSION, config: config ?? null, options: effective.options };
    process.stdout.write(json ? `${toJson(object)}\n` : shownOptions(effective));
  },
});
