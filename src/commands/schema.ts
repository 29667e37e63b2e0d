/** `mrm-trace schema`: what programs may rely on, from the tables that the program itself reads. */
import { defineCommand } from "citty";
import { budgetSchema } from "../config/budget-schema.ts";
import { deviceSchema } from "../config/device-schema.ts";
import { configSchema } from "../config/experiment-schema.ts";
import { nearestWord } from "../config/nearest-word.ts";
import { worldSchema } from "../config/world-schema.ts";
import { MrmTraceError } from "../errors.ts";
import { budgetCheckSchema } from "../schema/budget-check.ts";
import { columnsOf, TABLES, type TableName } from "../schema/columns.ts";
import { columnRows, tablePlace } from "../schema/columns-page.ts";
import { jsonSchemaOf } from "../schema/json-schema.ts";
import { observerEffectSchema } from "../schema/observer-effect.ts";
import { promptOutputsSchema } from "../schema/prompt-outputs.ts";
import { runJsonSchema, toJson } from "../schema/run-json.ts";
import { metadataSchema } from "../schema/run-metadata.ts";
import { simulationSchema } from "../schema/simulation.ts";
import { JSON_SCHEMA_VERSION, PARQUET_SCHEMA_VERSION } from "../schema/versions.ts";
import { whatIfSchema } from "../schema/what-if.ts";

const OBJECTS = {
  config: {
    schema: configSchema,
    title: "Configuration file of mrm-trace",
    description: "YAML or JSON for `mrm-trace run --config FILE`.",
  },
  run: {
    schema: runJsonSchema,
    title: "Report of a run",
    description: `What \`mrm-trace run --json\` prints, version ${JSON_SCHEMA_VERSION}; u64 values are decimal strings.`,
  },
  metadata: {
    schema: metadataSchema,
    title: "Metadata of a run",
    description: `metadata.json of a run directory, version ${JSON_SCHEMA_VERSION}; u64 values are decimal strings.`,
  },
  compare: {
    schema: observerEffectSchema,
    title: "Observer effect",
    description: `observer_effect.json of \`mrm-trace compare --arms\`, and with \`folder\` what its --json prints; version ${JSON_SCHEMA_VERSION}.`,
  },
  world: {
    schema: worldSchema,
    title: "Described world",
    description: "YAML or JSON for `mrm-trace simulate FILE`.",
  },
  simulation: {
    schema: simulationSchema,
    title: "Figures of a described world",
    description: `What \`mrm-trace simulate --json\` prints, version ${JSON_SCHEMA_VERSION}.`,
  },
  device: {
    schema: deviceSchema,
    title: "Memory device",
    description: "YAML or JSON for `mrm-trace what-if RUN_DIR --device FILE`.",
  },
  "what-if": {
    schema: whatIfSchema,
    title: "Data of a run on memory devices",
    description: `What \`mrm-trace what-if --json\` prints, version ${JSON_SCHEMA_VERSION}.`,
  },
  "prompt-outputs": {
    schema: promptOutputsSchema,
    title: "Texts of the demo",
    description: "prompt_outputs.json of a run of the demo engine.",
  },
  budget: {
    schema: budgetSchema,
    title: "Budget",
    description: "YAML or JSON for `mrm-trace check RUN_DIR --against FILE`.",
  },
  check: {
    schema: budgetCheckSchema,
    title: "Run against a budget",
    description: `What \`mrm-trace check --json\` prints, version ${JSON_SCHEMA_VERSION}.`,
  },
} as const;

type ObjectName = keyof typeof OBJECTS;

/** Tables that are stored, in the order of the table of columns. */
const STORED = (Object.keys(TABLES) as TableName[]).filter((name) => TABLES[name].kind !== "ring");
const NAMES: readonly string[] = [...Object.keys(OBJECTS), ...STORED];

const isObject = (name: string): name is ObjectName => Object.hasOwn(OBJECTS, name);
const isStored = (name: string): name is TableName => STORED.some((table) => table === name);

function unknown(name: string): MrmTraceError {
  const nearest = nearestWord(name, NAMES);
  const hint = nearest === null ? `give one of ${NAMES.join(", ")}` : `did you mean: mrm-trace schema ${nearest}`;
  return new MrmTraceError("usage", `there is no schema "${name}"`, hint);
}

/** One line per name. */
function overview(): string {
  const lines = NAMES.map((name) => {
    const about = isObject(name) ? OBJECTS[name].title : isStored(name) ? TABLES[name].doc : "";
    return `${name.padEnd(20)}${isObject(name) ? "JSON Schema" : "columns    "}  ${about}\n`;
  });
  return lines.join("");
}

/** What each metric is, from the registry that computes them. */
async function metricDefinitions() {
  const { METRICS } = await import("../analyse/metrics/registry.ts");
  return METRICS.flatMap(({ metrics, estimator }) =>
    metrics.map(({ name, unit, definition }) => ({ metric: name, unit, definition, estimator: estimator.join(" ") })),
  );
}

async function tableJson(name: TableName): Promise<string> {
  const { doc, kind } = TABLES[name];
  const columns = columnsOf(name).map(({ nullable, name: column, type, unit, doc: meaning }) => ({
    name: column,
    type,
    unit,
    nullable: nullable === true,
    doc: meaning,
  }));
  const metrics = name === "metrics" ? { metrics: await metricDefinitions() } : {};
  const stored_in = tablePlace(name).replaceAll("`", "");
  const about = { schema_version: JSON_SCHEMA_VERSION, parquet_schema_version: PARQUET_SCHEMA_VERSION };
  return `${toJson({ ...about, name, kind, stored_in, doc, columns, ...metrics }, 2)}\n`;
}

async function tableText(name: TableName): Promise<string> {
  const lines = [`${TABLES[name].doc} Stored in ${tablePlace(name)}.`, "", ...columnRows(name)];
  if (name === "metrics") {
    lines.push("", "| metric | unit | definition |", "|---|---|---|");
    for (const { metric, unit, definition } of await metricDefinitions()) {
      lines.push(`| ${metric} | ${unit} | ${definition} |`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** The text of one schema. @throws MrmTraceError usage, for an unknown name with the nearest known one */
export async function schemaText(name: string | undefined, json: boolean): Promise<string> {
  if (name === undefined)
    return json ? `${toJson({ schema_version: JSON_SCHEMA_VERSION, names: NAMES })}\n` : overview();
  if (isObject(name)) {
    const { schema, ...about } = OBJECTS[name];
    return `${toJson(jsonSchemaOf(schema, about), 2)}\n`;
  }
  if (isStored(name)) return json ? tableJson(name) : tableText(name);
  throw unknown(name);
}

export const schemaCommand = defineCommand({
  meta: { name: "schema", description: "Print the JSON Schema of a file or output, or a table's columns" },
  args: {
    name: {
      type: "positional",
      required: false,
      valueHint: NAMES.join("|"),
      description: "What to describe; without it all names are listed",
    },
    json: { type: "boolean", default: false, description: "Print columns as one JSON object; a JSON Schema always is" },
  },
  async run({ args }) {
    process.stdout.write(await schemaText(args.name, args.json));
  },
});
