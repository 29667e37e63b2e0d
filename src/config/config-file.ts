/** A configuration file, read and checked by the schema: everything that is wrong with it at once. */
import { MrmTraceError } from "../errors.ts";
import { type Config, configSchema } from "./experiment-schema.ts";
import { type ConfigProblem, eachOnce, problemAt, problemsOf, valueAt } from "./problem.ts";
import { MEANINGLESS } from "./python-keys.ts";
import { keysOf } from "./schema-keys.ts";
import { parseYaml, readYamlText, type YamlFile } from "./yaml-text.ts";

export const MOST_PROBLEMS = 100;
/** Deeper than any key of the schema. */
const MOST_DEPTH = 8;

export interface ConfigFile {
  /** As it was named. */
  readonly path: string;
  readonly yaml: YamlFile;
  /** Null where the schema refuses it. */
  readonly config: Config | null;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

/** A key without a value counts as not given, as in the Python package; in place, once for each value. */
function withoutNulls(value: unknown, depth = 0, seen = new Set<object>()): void {
  if (typeof value !== "object" || value === null || depth > MOST_DEPTH || seen.has(value)) return;
  seen.add(value);
  for (const [key, child] of Object.entries(value)) {
    if (child === null) Reflect.set(value, key, undefined);
    else withoutNulls(child, depth + 1, seen);
  }
}

/** Numbers of options as text, as on the command line: a duration of a bare 5 is then 5 seconds. */
function asText(section: unknown): unknown {
  if (typeof section !== "object" || section === null || Array.isArray(section)) return section;
  return Object.fromEntries(
    Object.entries(section).map(([key, value]) => [key, typeof value === "number" ? String(value) : value]),
  );
}

function prepared(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const sections = { ...value } as Record<string, unknown>;
  for (const name of ["run", "demo"]) if (name in sections) sections[name] = asText(sections[name]);
  return sections;
}

/** Problems in the order of the file, each once. */
export function inOrder(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return eachOnce(problems).sort((a, b) => a.line - b.line || a.column - b.column);
}

const same = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

/** Keys that are given and do nothing. */
function meaninglessKeys(yaml: YamlFile): ConfigProblem[] {
  return keysOf(configSchema).flatMap(({ path, schema }) => {
    const meaningless = MEANINGLESS.get(schema as Parameters<typeof MEANINGLESS.get>[0]);
    const value = meaningless === undefined ? undefined : valueAt(yaml.value, path);
    if (meaningless === undefined || value === undefined || meaningless.same.some((other) => same(other, value)))
      return [];
    return [problemAt(yaml, path, "does nothing here", { hint: meaningless.why, what: "key", received: null })];
  });
}

/**
 * Reads a file.
 * @throws MrmTraceError usage where there is nothing to check: no regular file, too large, not UTF-8, empty
 */
export function readConfigFile(path: string): ConfigFile {
  const text = readYamlText(path);
  const yaml = parseYaml(text);
  const syntax = yaml.problems.map((problem): ConfigProblem => ({ ...problem, key: "", hint: null, code: "usage" }));
  if (syntax.length === 0 && (yaml.value === null || yaml.value === undefined)) {
    const hint = `fill it, such as: mrm-trace config default > ${path}`;
    throw new MrmTraceError("usage", `${path} is empty: it holds no configuration`, hint);
  }
  if (yaml.value === undefined) return { path, yaml, config: null, problems: syntax, warnings: [] };
  withoutNulls(yaml.value);
  const parsed = configSchema.safeParse(prepared(yaml.value));
  const found = [...syntax];
  for (const issue of parsed.success ? [] : parsed.error.issues) {
    if (found.length < MOST_PROBLEMS) found.push(...problemsOf(yaml, issue, MOST_PROBLEMS - found.length));
  }
  const config = parsed.success ? parsed.data : null;
  return { path, yaml, config, problems: inOrder(found), warnings: inOrder(meaninglessKeys(yaml)) };
}
