/** The page of device files: their keys, and what the presets say with the source of each figure. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { isMapping, keyRow } from "./config-pages.ts";
import { DEVICE_FIGURES, deviceSchema, UNKNOWN } from "./device-schema.ts";
import { presetNames, presetPath } from "./devices/preset-devices.ts";
import { keysOf } from "./schema-keys.ts";

/** A figure as the file has it, with its source. */
function presetRow(figure: string, given: unknown): string {
  if (typeof given !== "object" || given === null) return `| ${figure} | ${UNKNOWN} | | |`;
  const {
    value,
    from: least,
    to: most,
    source = "",
    kind = "",
    url,
  } = given as Readonly<Record<string, string | number | undefined>>;
  const text = (x: string | number): string => (typeof x === "number" ? x.toExponential().replace("e+", "e") : x);
  const range = [least === undefined ? null : `from ${text(least)}`, most === undefined ? null : `to ${text(most)}`];
  const cited = url === undefined ? String(source) : `${source} ([address](${url}))`;
  return `| ${figure} | ${value === undefined ? range.filter((end) => end !== null).join(" ") : text(value)} | ${kind} | ${cited.replaceAll("|", "\\|")} |`;
}

function presetLines(name: string): string[] {
  const device = parse(readFileSync(presetPath(name), "utf8")) as Readonly<Record<string, unknown>>;
  const { refreshed_by = "software", wear_levelling = "not said" } = device;
  return [
    "",
    `### ${name}`,
    "",
    `${device.name}. ${device.about} Refreshed by: ${refreshed_by}; wear levelling: ${wear_levelling}.`,
    "",
    "| figure | value | kind | source |",
    "|---|---|---|---|",
    ...DEVICE_FIGURES.map((figure) => presetRow(figure, device[figure])),
  ];
}

/** Text of docs/devices.md. */
export function devicePage(): string {
  const keys = keysOf(deviceSchema);
  const rows = keys.filter(({ schema, path }) => path.length === 1 && !isMapping(schema)).map(keyRow);
  const figures = keys
    .filter(({ schema, path }) => path.length === 1 && isMapping(schema))
    .map(({ path, schema }) => {
      const value = keys.find((key) => key.path.join(".") === `${path[0]}.value`);
      return value === undefined ? "" : keyRow({ path, schema: value.schema.describe(schema.description ?? "") });
    });
  return [
    "<!-- Generated from src/config/device-schema.ts and config/devices; run `bun run generate`. -->",
    "# Memory devices",
    "",
    "A device is a YAML file for `mrm-trace what-if RUN_DIR --device FILE`, or a preset by its name. What is done with its figures:",
    "[what-if.md](what-if.md). A figure is a mapping, such as `{ value: 64ms, source: data sheet }`, or a range, such as",
    "`{ from: 1e6, to: 1e9, source: two papers }`, of which one end may be left out; or the word `unknown`, as where the key is left out,",
    "and then what follows from it is left open. Quantities have a unit. `mrm-trace schema device` prints the JSON Schema.",
    "",
    "## Keys",
    "",
    "| key | takes | default | meaning |",
    "|---|---|---|---|",
    ...rows,
    "",
    "Figures, each with `source`, its `kind` (`primary` or `secondary`) and `url`, an address of it:",
    "",
    "| figure | takes | default | meaning |",
    "|---|---|---|---|",
    ...figures,
    "",
    "## Presets",
    "",
    "Each figure has its source, and one without a source is not in the file. A source is `primary` where it is a document of who made,",
    "standardised or measured the thing, be it the copy of it that the address names, and `secondary` where another tells of it; where a",
    "figure takes two documents, the weaker counts. `what-if` says which figures are secondary. The presets are examples of a kind of memory, not of the part that",
    "you would buy: copy a file from `config/devices` of the package and put in what your data sheet says.",
    ...presetNames().flatMap(presetLines),
    "",
  ].join("\n");
}
