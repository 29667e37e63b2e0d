/** A YAML file that a schema checks: everything that is wrong with it at once, each with its place. */
import type { z } from "zod";
import { MrmTraceError } from "../errors.ts";
import { type ConfigProblem, eachOnce, problemsError, problemsOf } from "./problem.ts";
import { parseYaml, readYamlText, type Wanted, type YamlFile } from "./yaml-text.ts";

const MOST_PROBLEMS = 100;

export interface CheckedFile<T> {
  readonly yaml: YamlFile;
  readonly value: T;
}

/**
 * Reads and checks a file.
 * @param then the command that tells whether it is right now
 * @throws MrmTraceError usage, with every problem of the file and its line
 */
export function readCheckedFile<S extends z.ZodType>(
  path: string,
  schema: S,
  wanted: Wanted,
  then: string,
): CheckedFile<z.output<S>> {
  const yaml = parseYaml(readYamlText(path, wanted));
  const problems = yaml.problems.map((problem): ConfigProblem => ({ ...problem, key: "", hint: null, code: "usage" }));
  if (problems.length === 0 && (yaml.value === null || yaml.value === undefined)) {
    throw new MrmTraceError("usage", `${path} is empty: it holds no ${wanted.noun.replace(/^an? /, "")}`, wanted.hint);
  }
  const parsed = schema.safeParse(yaml.value);
  if (parsed.success && problems.length === 0) return { yaml, value: parsed.data };
  for (const issue of parsed.success || yaml.value === undefined ? [] : parsed.error.issues) {
    if (problems.length < MOST_PROBLEMS)
      problems.push(...problemsOf(yaml, issue, MOST_PROBLEMS - problems.length, schema));
  }
  throw problemsError(path, eachOnce(problems), then);
}
