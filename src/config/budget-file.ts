/** A budget, read and checked by the schema. */
import { MrmTraceError } from "../errors.ts";
import { type Budget, budgetSchema } from "./budget-schema.ts";
import { type CheckedFile, readCheckedFile } from "./checked-file.ts";

const WANTED = {
  noun: "a budget",
  hint: "name a YAML file such as config/budget.yaml of the package; `mrm-trace schema budget` says what it may hold",
};

/** @throws MrmTraceError usage, with every problem of the file and its line, and where it limits nothing */
export function readBudget(path: string): CheckedFile<Budget> {
  const file = readCheckedFile(path, budgetSchema, WANTED, `mrm-trace check RUN_DIR --against ${path}`);
  const { validity, lost, tracer, metrics } = file.value;
  const isEmpty =
    validity === undefined && lost === undefined && Object.keys(tracer).length === 0 && metrics.length === 0;
  if (isEmpty)
    throw new MrmTraceError("usage", `${path} limits nothing`, "add validity, lost, tracer or metrics to it");
  return file;
}
