/** A file that describes a world, read and checked by the schema: everything that is wrong with it at once. */
import { MrmTraceError } from "../errors.ts";
import { type ConfigProblem, problemsError, problemsOf } from "./problem.ts";
import { type DescribedWorld, worldSchema } from "./world-schema.ts";
import { parseYaml, readYamlText } from "./yaml-text.ts";

const MOST_PROBLEMS = 100;
const WANTED = {
  noun: "a described world",
  hint: "name a YAML file such as config/world.yaml of the package; `mrm-trace schema world` says what it may hold",
};

/** @throws MrmTraceError usage, with every problem of the file and its line */
export function readWorldFile(path: string): DescribedWorld {
  const yaml = parseYaml(readYamlText(path, WANTED));
  const problems = yaml.problems.map((problem): ConfigProblem => ({ ...problem, key: "", hint: null, code: "usage" }));
  if (problems.length === 0 && (yaml.value === null || yaml.value === undefined)) {
    throw new MrmTraceError("usage", `${path} is empty: it describes no world`, WANTED.hint);
  }
  const parsed = worldSchema.safeParse(yaml.value);
  if (parsed.success && problems.length === 0) return parsed.data;
  for (const issue of parsed.success || yaml.value === undefined ? [] : parsed.error.issues) {
    if (problems.length < MOST_PROBLEMS) {
      problems.push(...problemsOf(yaml, issue, MOST_PROBLEMS - problems.length, worldSchema));
    }
  }
  throw problemsError(path, problems, `mrm-trace simulate ${path}`);
}
