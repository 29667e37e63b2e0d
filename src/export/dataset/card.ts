/** The card of a published run, as Markdown: what ran, what was found with its uncertainty, and what each table holds. */
import type { RunTable } from "../../run-directory/table-files.ts";
import { TABLES } from "../../schema/columns.ts";
import { columnRows } from "../../schema/columns-page.ts";
import type { RowOf } from "../../schema/row.ts";
import { formatCount } from "../../units.ts";
import type { RunSource } from "../run-source.ts";
import { publishedTables } from "./dataset.ts";

type Figure = RowOf<"metrics">;

/** Text of a run in a cell of a table: names may hold anything. */
function cell(value: string | number | bigint | null): string {
  return String(value ?? "")
    .replaceAll(/[\\|<>`*_[\]]/g, (sign) => `\\${sign}`)
    .replaceAll(/\s+/g, " ");
}

/** Nine digits are more than any figure of a run is sure of. */
function digits(value: number | null): string {
  return value === null || Number.isNaN(value) ? "" : String(Number(value.toPrecision(6)));
}

/** Figures of whole classes over the whole run that say something. */
function headlines(run: RunSource): Figure[] {
  return [...run.rows("metrics")].filter(({ scope, phase, step, status, value, lo, hi }) => {
    const isWhole = scope === "class" && phase === "all" && step === "all";
    return isWhole && (status === "ok" || status === "bound") && (value ?? lo ?? hi) !== null;
  });
}

function figureLine({
  metric,
  region_type,
  mapping_kind,
  value,
  lo,
  hi,
  unit,
  ci_level,
  n,
  status,
  source,
}: Figure): string {
  const what = mapping_kind === null ? region_type : `${region_type}/${mapping_kind}`;
  const ends = `${digits(lo)} to ${digits(hi)}${ci_level === null ? "" : ` (${digits(100 * ci_level)} %)`}`;
  return `| ${[metric, what, digits(value), ends, unit, n, status, source].map(cell).join(" | ")} |`;
}

function tableSection(run: RunSource, name: RunTable): string[] {
  return [
    `### ${name}`,
    "",
    `${TABLES[name].doc} ${formatCount(run.countRows(name))} rows.`,
    "",
    ...columnRows(name),
    "",
  ];
}

export function titleOf({ metadata }: RunSource): string {
  return `Memory trace of ${metadata.model.id}, run ${metadata.run_id}`;
}

/** One paragraph on what a run is. */
export function summaryOf({ metadata }: RunSource): string {
  const { timing, validity, hardware, software, collectors } = metadata;
  const seconds = timing.total_wall_duration_s === null ? "" : ` for ${digits(timing.total_wall_duration_s)} s`;
  const machine = [hardware.cpu_model, software.os, software.kernel].filter((one) => one !== null).join(", ");
  const by = collectors.length === 0 ? "" : ` (${collectors.map(({ name }) => name).join(", ")})`;
  return `How an LLM inference process used its memory: ${metadata.model.id}, observed${seconds} by mrm-trace ${software.mrm_trace}${by}${machine === "" ? "" : ` on ${machine}`}. Validity: ${validity.class}.`;
}

/** The card without what a repository puts before it. */
export function cardText(run: RunSource): string {
  const { validity, loss } = run.metadata;
  const figures = headlines(run);
  const lost = Object.entries(loss).map(([source, share]) => `- ${cell(source)}: ${digits(Number(share))} % lost`);
  return [
    `# ${cell(titleOf(run))}`,
    "",
    cell(summaryOf(run)),
    "",
    "## Figures",
    "",
    "Over the whole run, of whole classes of data. `metrics` has all, each with its method, its samples and, where it is none, the reason.",
    "A `bound` is an end of an interval whose other end nobody knows.",
    "",
    ...(figures.length === 0
      ? ["None: the run was too short, or nothing was seen of its data."]
      : [
          "| metric | class | value | interval | unit | n | status | source |",
          "|---|---|---|---|---|---|---|---|",
          ...figures.map(figureLine),
        ]),
    "",
    "## How far it may be trusted",
    "",
    `The run is **${validity.class}**.`,
    ...validity.reasons.map((reason) => `- ${cell(reason)}`),
    ...validity.not_measured.map((what) => `- not measured: ${cell(what)}`),
    ...lost,
    "",
    "## Tables",
    "",
    "Times are ns of CLOCK_MONOTONIC; `metadata.json` has a pair of readings that gives the wall time. `schema.json` says the same of the columns.",
    "",
    ...publishedTables(run).flatMap((name) => tableSection(run, name)),
    "`SHA256SUMS` has the digest of every file: `sha256sum --check SHA256SUMS`.",
    "",
  ].join("\n");
}
