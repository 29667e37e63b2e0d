/** The options that hold: flags, then MRM_TRACE_*, then --config, then ./mrm-trace.yaml, then defaults. */
import { existsSync } from "node:fs";
import { type ConfigFile, readConfigFile } from "./config-file.ts";
import { defaultOf } from "./default-of.ts";
import { type Environment, optionsOfEnvironment, variableOf } from "./environment.ts";
import { givenOptions } from "./flags.ts";
import { problemsError, valueAt } from "./problem.ts";
import { pythonOptions } from "./python-options.ts";
import { type DemoOptions, demoSchema, parseOptions, type RunOptions, runSchema } from "./schema.ts";

/** Read where it is in the current folder: the options of runs; its models are run when --config names it. */
export const LOCAL_FILE = "mrm-trace.yaml";

const SECTIONS = { run: runSchema, demo: demoSchema } as const;
type Section = keyof typeof SECTIONS;

export interface EffectiveOption {
  /** `run.budget` */
  readonly key: string;
  /** As it was given, before units are read; null where nothing gives it and there is no default. */
  readonly value: unknown;
  /** `--budget`, `MRM_TRACE_BUDGET`, `exp.yaml:3`, or `default`. */
  readonly from: string;
}

export interface Effective {
  readonly run: RunOptions;
  readonly demo: DemoOptions;
  /** The file of --config; null without one. */
  readonly file: ConfigFile | null;
  readonly options: readonly EffectiveOption[];
}

export interface Layers {
  /** Flags as citty gives them. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly env?: Environment;
  /** Path of --config. */
  readonly config?: string | undefined;
}

/** Options of a section in a file; those that keys of the Python package give stand behind its own. */
function ofFile(file: ConfigFile, section: Section): Map<string, { value: unknown; from: string }> {
  const found = new Map<string, { value: unknown; from: string }>();
  const take = (name: string, path: readonly string[], value: unknown): void => {
    // As on the command line, where everything is text.
    const text = typeof value === "number" ? String(value) : value;
    if (value !== undefined)
      found.set(name, { value: text, from: `${file.path}:${file.yaml.locate(path, "key").line}` });
  };
  if (section === "run") for (const { name, path, value } of pythonOptions(file.yaml.value)) take(name, path, value);
  for (const name of Object.keys(SECTIONS[section].shape)) {
    take(name, [section, name], valueAt(file.yaml.value, [section, name]));
  }
  return found;
}

/** Numbers as numbers, though every layer gives text. */
function shown(value: unknown): unknown {
  return typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}

/** @throws MrmTraceError usage with every problem of the file */
function readValid(path: string): ConfigFile {
  const file = readConfigFile(path);
  if (file.problems.length > 0) throw problemsError(path, file.problems);
  return file;
}

/**
 * Merges the layers, option by option; each is checked where it is given.
 * @throws MrmTraceError usage, naming the flag, the variable or the line
 */
export function effectiveOptions({ args, env = process.env, config }: Layers): Effective {
  const file = config === undefined ? null : readValid(config);
  const local = existsSync(LOCAL_FILE) && config !== LOCAL_FILE ? readValid(LOCAL_FILE) : null;
  const options: EffectiveOption[] = [];
  const parsed = (section: Section): unknown => {
    const schema = SECTIONS[section];
    const flags = givenOptions(schema, args);
    // Alone first: an error then names the flag.
    parseOptions(schema, flags);
    const variables = optionsOfEnvironment(schema, env);
    const files = [file, local].flatMap((one) => (one === null ? [] : [ofFile(one, section)]));
    const given: Record<string, unknown> = {};
    for (const [name, option] of Object.entries(schema.shape)) {
      const inFile = files.find((found) => found.has(name))?.get(name);
      const [value, from] =
        flags[name] !== undefined
          ? [flags[name], `--${name.replaceAll("_", "-")}`]
          : variables[name] !== undefined
            ? [variables[name], variableOf(name)]
            : [inFile?.value, inFile?.from ?? "default"];
      if (value !== undefined) given[name] = value;
      options.push({ key: `${section}.${name}`, value: shown(value) ?? defaultOf(option) ?? null, from });
    }
    return parseOptions(schema, given);
  };
  const run = parsed("run") as RunOptions;
  return { run, demo: parsed("demo") as DemoOptions, file, options };
}
