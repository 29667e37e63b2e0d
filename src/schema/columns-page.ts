/** The text of docs/columns.md. */
import { columnsOf, TABLES, type TableName } from "./columns.ts";
import { PARQUET_SCHEMA_VERSION, SCHEMA_VERSION_KEY } from "./versions.ts";

const PLACE = {
  capture: (table: string) => `\`capture/${table}/*.parquet\``,
  derived: (table: string) => (table === "trace" ? "`trace/part-*.parquet`" : `\`${table}.parquet\``),
  ring: () => "only between the kernel and the reader",
} as const;

/** docs/columns.md: one section per table, one row per column. */
export function columnsPage(): string {
  const out = [
    "# Columns",
    "",
    "Generated from `src/schema/columns.ts` by `bun run generate`; do not edit.",
    `Every file carries the Parquet metadata key \`${SCHEMA_VERSION_KEY}\` = \`${PARQUET_SCHEMA_VERSION}\`.`,
    "Times are nanoseconds of CLOCK_MONOTONIC unless a unit says otherwise.",
  ];
  for (const name of Object.keys(TABLES) as TableName[]) {
    const table = TABLES[name];
    out.push("", `## ${name}`, "", `${table.doc} Stored in ${PLACE[table.kind](name)}.`, "");
    out.push("| column | type | unit | null | meaning |", "|---|---|---|---|---|");
    for (const column of columnsOf(name)) {
      out.push(
        `| ${column.name} | ${column.type} | ${column.unit} | ${column.nullable ? "yes" : ""} | ${column.doc.replaceAll("|", "\\|")} |`,
      );
    }
  }
  out.push("");
  return out.join("\n");
}
