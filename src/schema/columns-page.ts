/** The text of docs/columns.md. */
import { columnsOf, TABLES, type TableName } from "./columns.ts";
import { LEDGER_STREAMS, SOURCES_OF, STAGE_NAMES, STAGES } from "./ledger.ts";
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
  out.push(...ledgerSection(), "");
  return out.join("\n");
}

/** What rows of the ledger say, which stand in metadata.json and in what `--json` prints. */
function ledgerSection(): string[] {
  const stages = STAGE_NAMES.map((stage) => `| ${stage} | ${STAGES[stage]} |`);
  const streams = LEDGER_STREAMS.map((stream) => `| ${stream} | ${SOURCES_OF[stream].join(", ")} |`);
  return [
    "",
    "## The ledger",
    "",
    "What became of all events, in `metadata.json` and in what `--json` prints. A row is about one `stream` at one `stage`,",
    "and of one `source` where a stream feeds several; `way` tells several ways through a stage apart, for people. In every",
    "row `seen = kept + filtered + dropped`, and `dropped_by` gives the causes. `unseen_estimate` is for events that no",
    "counter saw.",
    "",
    "Stages, in the order in which events pass them:",
    "",
    "| stage | what is counted |",
    "|---|---|",
    ...stages,
    "",
    "Streams and the sources whose figures they feed. `engine` is what the engine's probes saw, before it is known to be a",
    "row of `tensor` or of `step`. A row without a source is about all sources of its stream:",
    "",
    "| stream | sources |",
    "|---|---|",
    ...streams,
    "",
    "`loss` gives the share of each source that did not reach a file, from these rows: 1 - the product over all stages of",
    "all streams that feed the source of the share that went on. Several ways through one stage are added before that, and",
    "events that no counter saw are lost ones. Figures of a source that lost more than 1 % are held back, and the class of",
    "the run is judged by the source that lost most.",
  ];
}
