/** One Markdown page of evidence for a run: what, how, on which machine, how valid, which figures, what it cost and lost. */
import { basename } from "node:path";
import { runOptionText } from "../config/default-of.ts";
import {
  costInShort,
  engineText,
  lossInShort,
  parametersText,
  targetText,
  titleText,
  tokensText,
} from "../report/run-lines.ts";
import type { Manifest } from "../run-directory/manifest.ts";
import { shellWords } from "../run-directory/shell-words.ts";
import type { RunReport } from "../schema/run-json.ts";
import type { RunMetadata } from "../schema/run-metadata.ts";
import { formatBytes, formatCounted, formatNs } from "../units.ts";
import { figureLines } from "./figures.ts";
import { code, codeCell, table } from "./markdown.ts";

export interface CardInput {
  readonly report: RunReport;
  readonly metadata: RunMetadata;
  /** Null where the run has none. */
  readonly manifest: { readonly content: Manifest; readonly sha256: string } | null;
  /** Of the program that makes the card. */
  readonly version: string;
}

/** `- what: value`, nothing where there is no value. */
function item(what: string, value: string | number | null | undefined): string[] {
  return value === null || value === undefined || value === "" ? [] : [`- ${what}: ${code(String(value))}`];
}

function listed(what: string, values: readonly string[]): string[] {
  return values.map((value) => `- ${what}: ${code(value)}`);
}

const memberOf = (object: unknown, name: string): unknown =>
  typeof object === "object" && object !== null ? Reflect.get(object, name) : undefined;

/** A field of an object that metadata.json keeps as it was, where it is text or a number. */
const field = (object: unknown, name: string): string | null => wordOf(memberOf(object, name));

function wordOf(value: unknown): string | null {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) && value.every((one) => typeof one === "string") ? value.join(", ") : null;
}

function whatLines({ report, metadata }: CardInput): string[] {
  const { command } = report.target;
  const engines = metadata.engines.map((engine) => {
    const objects =
      field(engine, "objects")
        ?.split(", ")
        .map((path) => basename(path)) ?? [];
    return [field(engine, "name") ?? "engine", ...objects].join(", ");
  });
  return [
    ...item("model", titleText(report)),
    ...item("its tensors have", parametersText(report)),
    ...item("run", report.run_id),
    ...item("repeated by", shellWords(metadata.repeated_by ?? [])),
    ...item(
      `command, recorded ${field(metadata.options, "record_command") ?? "masked"}`,
      command.length === 0 ? "not recorded" : command.join(" "),
    ),
    ...listed("engine", engines),
    ...item("engine and model", engineText(report)),
    ...item("process", targetText(report)),
    ...item("tokens", tokensText(report)),
  ];
}

/** Options that decide what was observed. */
const OPTIONS = [
  "collector",
  "source",
  "ebpf",
  "budget",
  "watch_registers",
  "clock_hz",
  "max_size",
  "duration",
] as const;

function howLines({ report, metadata }: CardInput): string[] {
  const { options, trap_cost_ns, timing, seed, stopped_by } = metadata;
  const given = OPTIONS.flatMap((name) => {
    const value = wordOf(runOptionText(name, memberOf(options, name)));
    return value === null ? [] : [`${name}=${value}`];
  });
  const collectors = report.collectors.map(({ name, sources, why_not_better }) =>
    [
      `${name}${sources.length === 0 ? "" : `: ${sources.join(", ")}`}`,
      ...(why_not_better ? [why_not_better] : []),
    ].join("; "),
  );
  return [
    ...item("began", timing.started_at_utc),
    ...item("ended by", stopped_by),
    ...listed("collector", collectors),
    ...item("options", given.join(" ")),
    ...item("seed of every random choice", seed),
    ...item("cost of a trap", trap_cost_ns === null ? null : formatNs(trap_cost_ns)),
  ];
}

const MACHINE = [
  "cpu_model",
  "cpus",
  "architecture",
  "virtualisation",
  "memory_total_bytes",
  "transparent_hugepage",
  "numa_nodes",
  "governor",
];
const VERSIONS = ["os", "kernel", "mrm_trace", "build", "bun"];

function machineLines({ metadata }: CardInput): string[] {
  const fields = (object: unknown, names: readonly string[]): string[] =>
    names.flatMap((name) => item(name.replaceAll("_", " "), field(object, name)));
  return [
    ...fields(metadata.hardware, MACHINE),
    ...fields(metadata.software, VERSIONS),
    ...item("schema of the files", metadata.schema_version),
  ];
}

function validityLines({ report }: CardInput): string[] {
  return [
    ...item("class", report.validity),
    ...listed("because", report.reasons),
    ...listed("not measured", report.not_measured),
    ...listed("warning", report.warnings),
  ];
}

function fileLines({ manifest, report }: CardInput): string[] {
  if (manifest === null) return ["The run has no manifest: its files cannot be held against what they were."];
  const { content, sha256 } = manifest;
  const isCaptured = ({ path }: Manifest["files"][number]): boolean => path.startsWith("capture/");
  const captured = content.files.filter(isCaptured);
  const bytes = (files: Manifest["files"]): string =>
    formatBytes(files.reduce((sum, { size_bytes }) => sum + size_bytes, 0));
  const derived = content.files.filter((file) => !isCaptured(file) && !file.path.includes("/"));
  return [
    `- ${code("manifest.json")}, which has the SHA-256 of every file: ${code(sha256)}`,
    `- ${code("capture/")}, what was observed: ${formatCounted(captured.length, "file")}, ${bytes(captured)}`,
    "",
    ...table(
      ["file", "bytes", "SHA-256"],
      derived.map(({ path, size_bytes, sha256: digest }) => [codeCell(path), String(size_bytes), codeCell(digest)]),
    ),
    "",
    `Whether the files are still these: ${code(`mrm-trace verify ${report.run_dir}`)}.`,
  ];
}

/** The text of the page. */
export function cardText(input: CardInput): string {
  const { report, version } = input;
  const sections: readonly (readonly [title: string, lines: readonly string[]])[] = [
    ["What ran", whatLines(input)],
    ["How it was observed", howLines(input)],
    ["Machine and versions", machineLines(input)],
    ["Validity", validityLines(input)],
    ["Figures", figureLines(report)],
    ["Cost and loss", [...item("cost", costInShort(report)), ...item("lost", lossInShort(report))]],
    ["Files", fileLines(input)],
  ];
  return [
    `# Evidence of a run: ${code(report.model_id)}`,
    "",
    `Made by mrm-trace ${code(version)} from the files of the run; nothing was derived again. Every figure with its method and reason:`,
    `${code(`mrm-trace show --table ${report.run_dir}`)}. What each is: docs/metrics.md of the program.`,
    ...sections.flatMap(([title, lines]) => ["", `## ${title}`, "", ...lines]),
    "",
  ].join("\n");
}
