/** What is wrong in a configuration file, where, and what would be right. */
import { z } from "zod";
import { EXIT_CODES, MrmTraceError } from "../errors.ts";
import { configSchema } from "./experiment-schema.ts";
import { nearestWord } from "./nearest-word.ts";
import { bare, keysOf, pathText } from "./schema-keys.ts";
import { wantedText } from "./type-text.ts";
import type { Position, YamlFile } from "./yaml-text.ts";

export interface ConfigProblem extends Position {
  /** `sweep.batch_sizes[0]`; empty for the whole file. */
  readonly key: string;
  readonly message: string;
  /** As JSON, cut where it is long; null where nothing was given. */
  readonly received: string | null;
  readonly hint: string | null;
  /** Which exit code it means: `environment` for what this program cannot do. */
  readonly code: "usage" | "environment";
}

const MOST_RECEIVED = 60;

/** Numbers that JSON has no word for, as YAML writes them. */
const yamlNumber = (value: number): string => (Number.isNaN(value) ? ".nan" : value > 0 ? ".inf" : "-.inf");

/** A value as it is quoted in a message. */
export function receivedText(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value === "number" && !Number.isFinite(value)) return yamlNumber(value);
  let text: string;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    return "a value that holds itself";
  }
  return text.length <= MOST_RECEIVED ? text : `${text.slice(0, MOST_RECEIVED)}...`;
}

/** The value at a path; undefined where there is none. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, part)) return undefined;
    found = Reflect.get(found, part);
  }
  return found;
}

/** A problem with the value at a path, or with its key. */
export function problemAt(
  file: YamlFile,
  path: readonly PropertyKey[],
  message: string,
  rest: { hint?: string | null; code?: ConfigProblem["code"]; what?: "key" | "value"; received?: string | null } = {},
): ConfigProblem {
  const { hint = null, code = "usage", what = "value" } = rest;
  const received = rest.received === undefined ? receivedText(valueAt(file.value, path)) : rest.received;
  return { ...file.locate(path, what), key: pathText(path), message, received, hint, code };
}

/** The schema at a path of a value, with its description. */
function schemaAt(root: z.ZodType, path: readonly PropertyKey[]): z.ZodType | null {
  let schema = root;
  for (const part of path) {
    const inner = bare(schema);
    const next =
      inner instanceof z.ZodArray
        ? inner.element
        : inner instanceof z.ZodObject
          ? (inner.shape as Record<string, z.ZodType>)[String(part)]
          : undefined;
    if (next === undefined) return null;
    schema = next as z.ZodType;
  }
  return schema;
}

/** What an unknown key was probably meant to be: near by in its own mapping, else the same word elsewhere. */
function rightKey(root: z.ZodType, path: readonly PropertyKey[], key: string): string | null {
  const found = schemaAt(root, path);
  const schema = found === null ? null : bare(found);
  const siblings = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const near = nearestWord(key, siblings);
  if (near !== null) return `did you mean ${near}?`;
  const elsewhere = keysOf(root).find(({ path: keyPath }) => keyPath.at(-1) === key);
  if (elsewhere !== undefined) return `it belongs to ${pathText(elsewhere.path)}`;
  return siblings.length === 0 ? null : `one of ${siblings.join(", ")}`;
}

/** What is wrong inside a mapping that was given where a word or a mapping may stand. */
function insideMapping(value: unknown, { errors }: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const branches = errors.filter(
    (branch) =>
      !branch.some(({ path, code }) => path.length === 0 && code !== "unrecognized_keys" && code !== "custom"),
  );
  return branches[0] ?? [];
}

/** The kinds of values by the words that people use for them. */
const KINDS: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  number: "a number",
  object: "a mapping of keys to values",
  string: "text",
};

/** How long a list or text may be, or how large a number. */
function lengthText(which: "at least" | "at most", limit: number, origin: string): string {
  const noun = { array: "item", string: "character" }[origin];
  return `${which} ${limit}${noun === undefined ? "" : ` ${noun}${limit === 1 ? "" : "s"}`}`;
}

/** What an issue asks for, where the library says it in its own words; null where a check of ours says it. */
function kindOf(issue: z.core.$ZodIssue): string | null {
  if (issue.code === "too_small" && /^Too small: /.test(issue.message))
    return lengthText("at least", Number(issue.minimum), issue.origin);
  if (issue.code === "too_big" && /^Too big: /.test(issue.message))
    return lengthText("at most", Number(issue.maximum), issue.origin);
  if (!issue.message.startsWith("Invalid ")) return null;
  if (issue.code === "invalid_type") return KINDS[issue.expected] ?? "another kind of value";
  return issue.code === "invalid_value" ? `one of ${issue.values.join(", ")}` : null;
}

/** The problems behind one issue of a schema, that of experiments where none is named: an issue names all unknown keys of a mapping. */
export function problemsOf(
  file: YamlFile,
  issue: z.core.$ZodIssue,
  most: number,
  root: z.ZodType = configSchema,
): ConfigProblem[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.slice(0, most).map((key) =>
      problemAt(file, [...issue.path, key], "unknown key", {
        what: "key",
        hint: rightKey(root, issue.path, key),
      }),
    );
  }
  if (issue.code === "invalid_union") {
    const inside = insideMapping(valueAt(file.value, issue.path), issue);
    if (inside.length > 0) {
      return inside
        .flatMap((one) => problemsOf(file, { ...one, path: [...issue.path, ...one.path] }, most, root))
        .slice(0, most);
    }
  }
  const isMissing = issue.code === "invalid_type" && valueAt(file.value, issue.path) === undefined;
  const schema = schemaAt(root, issue.path);
  // What is wrong beside other keys, a check of ours says better than the kind of value.
  const wanted = schema === null || issue.code === "custom" ? null : wantedText(schema);
  const kind = wanted ?? kindOf(issue);
  const message = kind === null ? issue.message : `${isMissing ? "missing: " : ""}${kind} expected`;
  const described = schema?.description ?? null;
  return [problemAt(file, issue.path, message, { hint: described === null ? null : `it is: ${described}` })];
}

/** The problems, each once: two checks of one value may say the same. */
export function eachOnce(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const placeOf = ({ line, column, key, message }: ConfigProblem): string =>
    JSON.stringify([line, column, key, message]);
  return [...new Map(problems.map((problem) => [placeOf(problem), problem])).values()];
}

/** `FILE:3:5: sweep.batch_size: unknown key; did you mean batch_sizes?`, one line whatever the keys hold. */
export function problemLine(path: string, problem: ConfigProblem): string {
  const { line, column, key, message, received, hint } = problem;
  const what = key === "" ? message : `${key}: ${message}`;
  const got = received === null ? "" : `, but received ${received}`;
  return `${path}:${line}:${column}: ${what}${got}${hint === null ? "" : `; ${hint}`}`.replace(/[\r\n]/g, "?");
}

/** The exit code of a list of problems: usage where anything must be changed in the file, else what this machine lacks. */
export function problemsExitCode(problems: readonly ConfigProblem[]): number {
  if (problems.length === 0) return EXIT_CODES.ok;
  return problems.some(({ code }) => code === "usage") ? EXIT_CODES.usage : EXIT_CODES.environment;
}

/** All problems of a file as one error. @param then what tells whether the file is right */
export function problemsError(
  path: string,
  problems: readonly ConfigProblem[],
  then = `mrm-trace validate ${path}`,
): MrmTraceError {
  const code = problems.some((problem) => problem.code === "usage") ? "usage" : "environment";
  const lines = problems.map((problem) => problemLine(path, problem));
  const first =
    lines.length === 1 ? (lines[0] ?? "") : `${path} has ${lines.length} problems:\n  ${lines.join("\n  ")}`;
  return new MrmTraceError(code, first, `change ${path}; then: ${then}`);
}
