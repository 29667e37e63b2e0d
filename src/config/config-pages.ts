/** The files that are generated from the schema of a configuration: all defaults, an example, and the page of keys. */
import { stringify } from "yaml";
import { z } from "zod";
import { defaultOf } from "./default-of.ts";
import type { EffectiveOption } from "./effective.ts";
import { variableOf } from "./environment.ts";
import { type Config, configSchema } from "./experiment-schema.ts";
import { MEANINGLESS } from "./python-keys.ts";
import { demoSchema, runSchema } from "./schema.ts";
import { bare, keysOf, pathText, type SchemaKey } from "./schema-keys.ts";
import { typeText } from "./type-text.ts";

const scalar = (value: unknown): string => stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trim();

/** The options of one section with their meaning; those without a default are commented out. */
function defaultSection(name: string, schema: z.ZodObject): string[] {
  return [
    `${name}:`,
    ...Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([key, option]) => {
      const value = defaultOf(option);
      const line = value === undefined ? `  # ${key}:` : `  ${key}: ${scalar(value)}`;
      return [`  # ${option.description ?? key}`, line];
    }),
  ];
}

/** The options that a file may give for every run. */
const runFileOptions = runSchema.omit({ force: true, run_id: true, record_only: true, json: true });

/** Text of config/default.yaml. */
export function defaultYaml(): string {
  return [
    "# Every option of a run at its default, generated from the schema. Experiments: see config/demo.yaml.",
    "# Flags and MRM_TRACE_* stand above a file; a file named by --config above ./mrm-trace.yaml.",
    ...defaultSection("run", runFileOptions),
    ...defaultSection("demo", demoSchema),
    "",
  ].join("\n");
}

/** The same as `config show` has options that hold. */
export function defaultOptions(): EffectiveOption[] {
  return Object.entries({ run: runFileOptions, demo: demoSchema }).flatMap(([section, { shape }]) =>
    Object.entries<z.ZodType>(shape).map(([name, option]) => ({
      key: `${section}.${name}`,
      value: defaultOf(option) ?? null,
      from: "default",
    })),
  );
}

const EXAMPLE = {
  experiment: { name: "context-and-batch", description: "How the KV cache is used as context and batch grow" },
  models: [{ id: "random-15m", engine: "demo", params: "15m", type: "q8_0" }],
  sweep: { context_lengths: [256, 512], batch_sizes: [1, 4], output_tokens: [128], repetitions: 3, warmup_runs: 1 },
  prompts: { source: "random" },
  run: { budget: "1", max_size: "1GiB" },
  output: { base_dir: "results" },
} as const;

/** Lines of a mapping, each key behind its meaning. */
function exampleLines(path: readonly string[], value: object, indent: string): string[] {
  const keys = new Map(keysOf(configSchema).map(({ path: keyPath, schema }) => [keyPath.join("."), schema]));
  return Object.entries(value).flatMap(([key, child]) => {
    const fullPath = [...path, key];
    const about = keys.get(fullPath.join("."))?.description;
    const comment = about === undefined ? [] : [`${indent}# ${about}`];
    if (Array.isArray(child) && typeof child[0] === "object") {
      const items = child.map((item) => `${indent}  - ${scalar(item)}`);
      return [...comment, `${indent}${key}:`, ...items];
    }
    if (typeof child === "object" && child !== null && !Array.isArray(child)) {
      return [...comment, `${indent}${key}:`, ...exampleLines(fullPath, child, `${indent}  `)];
    }
    return [...comment, `${indent}${key}: ${scalar(key === "budget" ? Number(child) : child)}`];
  });
}

/** Text of config/demo.yaml. */
export function demoYaml(): string {
  return [
    "# An experiment that runs anywhere: mrm-trace run --config config/demo.yaml",
    ...exampleLines([], EXAMPLE, ""),
    "",
  ].join("\n");
}

/** A row of the table of keys: key, what it takes, default, meaning. */
export function keyRow({ path, schema }: SchemaKey): string {
  const value = defaultOf(schema);
  const cells = [
    `\`${pathText(path)}\``,
    typeText(schema, (word) => `\`${word}\``),
    value === undefined ? "" : `\`${scalar(value)}\``,
    schema.description ?? "",
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

/** True of a mapping and of a list of mappings: their keys have rows of their own. */
export function isMapping(schema: z.ZodType): boolean {
  const inner = bare(schema);
  return (
    inner instanceof z.ZodObject ||
    (inner instanceof z.ZodArray && bare(inner.element as z.ZodType) instanceof z.ZodObject)
  );
}

/** Options as they are at their defaults: in a file each may be left out. */
function withDefaults(key: SchemaKey): SchemaKey {
  const [section, name = ""] = key.path;
  const shape: Record<string, z.ZodType> | null =
    section === "run" ? runSchema.shape : section === "demo" ? demoSchema.shape : null;
  return { path: key.path, schema: (key.path.length === 2 ? shape?.[name] : undefined) ?? key.schema };
}

/** Text of docs/config.md. */
export function configPage(): string {
  const keys = keysOf(configSchema).filter(({ schema }) => !isMapping(schema));
  const meaning = (key: SchemaKey) => MEANINGLESS.get(key.schema as Parameters<typeof MEANINGLESS.get>[0]);
  const ours = keys.filter((key) => meaning(key) === undefined).map(withDefaults);
  const theirs = keys.flatMap((key) => {
    const words = meaning(key);
    if (words === undefined) return [];
    const same = words.same.filter((value) => value !== null).map((value) => `\`${scalar(value)}\``);
    return [`| \`${pathText(key.path)}\` | ${words.why} | ${same.join(", ")} |`];
  });
  const sections = Object.keys(configSchema.shape) as (keyof Config)[];
  const tables = sections.flatMap((section) => {
    const rows = ours.filter(({ path }) => path[0] === section);
    if (rows.length === 0) return [];
    const about = configSchema.shape[section].description ?? "";
    return [
      "",
      `## ${section}`,
      "",
      `${about}.`,
      "",
      "| key | takes | default | meaning |",
      "|---|---|---|---|",
      ...rows.map(keyRow),
    ];
  });
  return [
    "<!-- Generated from src/config; run `bun run generate`. -->",
    "# Configuration",
    "",
    "One YAML file (JSON is YAML too) holds the options of runs and, with `models`, an experiment. `mrm-trace validate FILE` tells",
    "every problem at once, `mrm-trace plan FILE` what would run, `mrm-trace run --config FILE` runs it. `mrm-trace config default`",
    "prints all options, `mrm-trace config show` those that hold, each with where it comes from.",
    "",
    `Order: flags, then the environment (\`${variableOf("budget")}=2\` is \`--budget 2\`), then \`--config FILE\`, then \`./mrm-trace.yaml\`,`,
    "then defaults. Of `./mrm-trace.yaml` only options are taken (`run`, `demo`, what keys of the Python package say of them) unless `--config` names it. Quantities have a unit; a bare number of a duration is seconds.",
    "Paths are from the current folder.",
    "",
    "An experiment runs every model with every combination of context length, batch size and output tokens: warm-ups first, then",
    "repetitions. A prompt fills what the context leaves beside its output, unless `prompts.tokens` says how long it is. llama.cpp",
    "rounds a context up to a multiple of 256 tokens; the prompt and the output do not grow with it. `output_tokens` counts the",
    "token that comes out of the prompt's own pass, so the engine makes one decode step less. A run's id ends in a digest of all",
    "that decides what it measures: with other settings it is another run, which `--resume` does not take for this one.",
    ...tables,
    "",
    "## Keys of the Python package without meaning here",
    "",
    "Its experiment file is read as it is. These keys do nothing and warn, unless they say what is done anyway; any other unknown key",
    "is an error.",
    "",
    "| key | why | no warning for |",
    "|---|---|---|",
    ...theirs,
    "",
  ].join("\n");
}
