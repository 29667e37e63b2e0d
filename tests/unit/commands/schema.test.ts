import { describe, expect, test } from "bun:test";
import Ajv2020 from "ajv/dist/2020";
import { parse } from "yaml";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { schemaText } from "../../../src/commands/schema.ts";
import { configSchema } from "../../../src/config/experiment-schema.ts";
import { columnsOf, TABLES, type TableName } from "../../../src/schema/columns.ts";
import { encodeRun, toJson } from "../../../src/schema/run-json.ts";
import { demoReport } from "../../fixtures/run-report.ts";

/** A reader of JSON Schemas that is not the one that wrote them; it refuses a schema that is none. */
async function validator(name: string) {
  const validate = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true }).compile(
    JSON.parse(await schemaText(name, false)),
  );
  return (value: unknown): string[] =>
    validate(value) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.keyword}`);
}

describe("schema run", () => {
  test("takes a report as it is printed, and no other", async () => {
    const problems = await validator("run");
    const report = JSON.parse(toJson(encodeRun(demoReport())));
    expect(problems(report)).toEqual([]);
    expect(problems({ ...report, validity: "spotless" })).toEqual(["/validity enum"]);
    expect(problems({ ...report, observer: { ...report.observer, traps: 7 } })).toEqual(["/observer/traps type"]);
    expect(problems({ ...report, ledger: undefined })).not.toEqual([]);
  });
});

describe("schema config", () => {
  const FILES = [
    "run: { budget: 0.5, duration: 30s, max_size: 64MB }",
    "experiment: { name: a }\nmodels: [{ id: m, engine: demo, params: 15m }]\nsweep: { batch_sizes: [1, 4] }",
  ];
  const REFUSED = ["run: { bugdet: 1 }", "run: { budget: 99 }", "models: []", "sweep: { batch_sizes: 4 }"];

  test("takes what the program takes, and refuses what it refuses", async () => {
    const problems = await validator("config");
    for (const text of FILES) {
      expect([text, configSchema.safeParse(parse(text)).success, problems(parse(text))]).toEqual([text, true, []]);
    }
    for (const text of REFUSED) {
      expect([text, configSchema.safeParse(parse(text)).success]).toEqual([text, false]);
      expect([text, problems(parse(text)).length]).not.toEqual([text, 0]);
    }
  });
});

describe("schema of a table", () => {
  const stored = (Object.keys(TABLES) as TableName[]).filter((name) => TABLES[name].kind !== "ring");

  test.each(stored)("%s names every column with type, unit and meaning", async (name) => {
    const { columns, stored_in } = JSON.parse(await schemaText(name, true));
    expect(columns).toEqual(
      columnsOf(name).map(({ name: column, type, unit, nullable, doc }) => ({
        name: column,
        type,
        unit,
        nullable: nullable === true,
        doc,
      })),
    );
    expect(stored_in).toContain(".parquet");
    const text = await schemaText(name, false);
    for (const column of columnsOf(name))
      expect(text).toContain(`| ${column.name} | ${column.type} | ${column.unit} |`);
  });

  test("metrics defines every metric of the registry", async () => {
    const names = METRICS.flatMap(({ metrics }) => metrics.map((metric) => metric.name));
    const { metrics } = JSON.parse(await schemaText("metrics", true)) as { metrics: { metric: string }[] };
    expect(metrics.map(({ metric }) => metric)).toEqual(names);
    const text = await schemaText("metrics", false);
    for (const name of names) expect(text).toContain(`\n| ${name} | `);
  });
});

test("without a name every schema is listed, with an unknown one the nearest is named", async () => {
  const listed = (await schemaText(undefined, false)).trim().split("\n");
  const names = listed.map((line) => line.split(" ")[0] ?? "");
  expect(names).toContain("kv_block_lifecycle");
  expect(JSON.parse(await schemaText(undefined, true)).names).toEqual(names);
  for (const name of names) expect((await schemaText(name, false)).length).toBeGreaterThan(100);
  expect(schemaText("regionmap", false)).rejects.toMatchObject({
    code: "usage",
    hint: expect.stringMatching(/region_map$/),
  });
  expect(schemaText("trap", false)).rejects.toMatchObject({ code: "usage" });
});
