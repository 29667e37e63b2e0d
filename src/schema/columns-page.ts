/** The text of docs/columns.md. */
import { columnsOf, TABLES, type TableName } from "./columns.ts";
import { PARQUET_SCHEMA_VERSION, SCHEMA_VERSION_KEY } from "./versions.ts";

const PLACE = {
  capture: (table: string) => `\`capture/${table}/*.parquet\``,
  derived: (table: string) => (table === "trace" ? "`trace/part-*.parquet`" : `\`${table}.parquet\``),
  ring: () => "only between the kernel and the reader",
} as const;

/** Where rows of a table are stored, as Markdown. */
export function tablePlace(name: TableName): string {
  return PLACE[TABLES[name].kind](name);
}

/** The columns of a table as lines of a Markdown table. */
export function columnRows(name: TableName): string[] {
  const rows = columnsOf(name).map(
    ({ name: column, type, unit, nullable, doc }) =>
      `| ${column} | ${type} | ${unit} | ${nullable ? "yes" : ""} | ${doc.replaceAll("|", "\\|")} |`,
  );
  return ["| column | type | unit | null | meaning |", "|---|---|---|---|---|", ...rows];
}

/** docs/columns.md: one section per table, one row per column. */
export function columnsPage(): string {
  const out = [
    "# Columns",
    "",
    "Generated from the tables of `src/schema/columns.ts` by `bun run generate`; do not edit.",
    `Every file carries the Parquet metadata key \`${SCHEMA_VERSION_KEY}\` = \`${PARQUET_SCHEMA_VERSION}\`.`,
    "Times are nanoseconds of CLOCK_MONOTONIC unless a unit says otherwise.",
  ];
  for (const name of Object.keys(TABLES) as TableName[]) {
    out.push("", `## ${name}`, "", `${TABLES[name].doc} Stored in ${tablePlace(name)}.`, "", ...columnRows(name));
  }
  out.push("");
  return out.join("\n");
}
