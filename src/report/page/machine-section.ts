/** Where and how a run was made: machine, versions, what watched, and the command that repeats it. */

import { shellWords } from "../../run-directory/shell-words.ts";
import type { RunReport } from "../../schema/run-json.ts";
import type { RunMetadata } from "../../schema/run-metadata.ts";
import { formatBytes } from "../../units.ts";
import { printable } from "../terminal.ts";
import { termList } from "./answer-section.ts";
import { type Html, html } from "./html.ts";

const text = (value: unknown): string | null => {
  if (typeof value === "string" || typeof value === "number") return String(value);
  return typeof value === "boolean" ? (value ? "yes" : "no") : null;
};

/** A setting of an engine; of several together each with its name. */
function settingText(value: unknown): string {
  const isGroup = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isGroup) return text(value) ?? JSON.stringify(value);
  const parts = Object.entries(value).map(([key, part]) => `${key} ${text(part) ?? JSON.stringify(part)}`);
  return `(${parts.join(", ")})`;
}

const NOT_KEPT =
  "Its command line is not in the files: it was not kept (--record-command none), or the run was scrubbed.";

const shell = (words: readonly string[]): Html => html`<pre tabindex="0">${printable(shellWords(words))}</pre>`;

/** What starts such a run again, as one would type it, and what that ran, where the first does not say it. */
function repeated({ target: { command } }: RunReport, metadata: RunMetadata): Html {
  const { repeated_by: words, experiment, imported, imported_from } = metadata;
  if (imported !== undefined || imported_from !== undefined) {
    return html`<p>${"Recorded by another tool: there is no command that repeats it."}</p>`;
  }
  const isSaid = words !== undefined && command.length > 0 && words.slice(-command.length).join() === command.join();
  const ran =
    command.length === 0 || isSaid ? null : html`<p class="about">The process that was traced:</p>${shell(command)}`;
  if (experiment != null) {
    const again = shell(["mrm-trace", "run", "--config", "FILE"]);
    return html`<h4>Run it again</h4>${again}<p class="about">FILE holds the experiment ${printable(experiment.name)}, of which this is one run.</p>${ran}`;
  }
  if (words !== undefined && words.length > 0) return html`<h4>Run it again</h4>${shell(words)}${ran}`;
  return ran === null ? html`<p>${NOT_KEPT}</p>` : html`<h4>What ran</h4>${ran}`;
}

/** Machine, versions and command of one run. */
export function machineOfRun(report: RunReport, metadata: RunMetadata): Html {
  const { hardware, software, timing } = metadata;
  const memory = hardware.memory_total_bytes;
  const engines = metadata.engines.map(
    ({ name, objects: _, experts: __, activations: ___, engine_time: ____, ...settings }) => {
      const said = Object.entries(settings).map(([key, value]) => `${key} ${settingText(value)}`);
      return [text(name) ?? "unknown", ...said].join(", ");
    },
  );
  const collectors = report.collectors.map(({ name, sources, why_not_better }) =>
    [`${name}${sources.length === 0 ? "" : `: ${sources.join(", ")}`}`, why_not_better ?? ""]
      .filter(Boolean)
      .join("; "),
  );
  const versions = Object.entries(software)
    .filter(([key]) => key !== "os" && key !== "kernel")
    .map(([key, value]) => `${key.replaceAll("_", "-")} ${text(value) ?? "unknown"}`);
  return html`${termList([
    ["when", timing.started_at_utc],
    [
      "CPU",
      [
        text(hardware.cpu_model),
        text(hardware.cpus) === null ? null : `${hardware.cpus} CPUs`,
        text(hardware.virtualisation),
      ]
        .filter(Boolean)
        .join(", ") || null,
    ],
    ["memory", typeof memory === "number" ? formatBytes(memory) : null],
    ["system", [software.os, software.kernel].filter(Boolean).join(", ") || null],
    ["engine", engines.join("; ") || null],
    ["collectors", collectors.join("; ") || null],
    ["versions", versions.join(", ")],
    ["seed", String(metadata.seed)],
    // Not where it lies here: the page is sent to others.
    ["files", `${report.model_id}/${report.run_id}`],
  ])}${repeated(report, metadata)}`;
}
