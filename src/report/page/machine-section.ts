/** Where and how a run was made: machine, versions, what watched, and the command that repeats it. */
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

/** Words as a shell takes them. */
export function shellWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

/** Options of a run that are not as they are by default can be seen in metadata.json; these are what repeats it. */
function repeats(report: RunReport, metadata: RunMetadata): string | null {
  const { command } = report.target;
  if (command.length === 0 || metadata.imported !== undefined || metadata.imported_from !== undefined) return null;
  const seed = metadata.seed === 1 ? [] : ["--seed", String(metadata.seed)];
  return shellWords(["mrm-trace", "run", ...seed, "--", ...command]);
}

/** Machine, versions and command of one run. */
export function machineOfRun(report: RunReport, metadata: RunMetadata): Html {
  const { hardware, software, timing } = metadata;
  const memory = hardware.memory_total_bytes;
  const engines = metadata.engines.map(({ name, objects: _, ...settings }) => {
    const said = Object.entries(settings).map(([key, value]) => `${key} ${settingText(value)}`);
    return [text(name) ?? "unknown", ...said].join(", ");
  });
  const collectors = report.collectors.map(({ name, sources, why_not_better }) =>
    [`${name}${sources.length === 0 ? "" : `: ${sources.join(", ")}`}`, why_not_better ?? ""]
      .filter(Boolean)
      .join("; "),
  );
  const versions = Object.entries(software)
    .filter(([key]) => key !== "os" && key !== "kernel")
    .map(([key, value]) => `${key.replaceAll("_", "-")} ${text(value) ?? "unknown"}`);
  const command = repeats(report, metadata);
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
  ])}${command === null ? html`<p>${"Recorded by another tool: there is no command that repeats it."}</p>` : html`<h4>Run it again</h4><pre tabindex="0">${printable(command)}</pre>`}`;
}
