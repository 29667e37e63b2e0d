/** A file that describes a world, read and checked by the schema: everything that is wrong with it at once. */
import { MrmTraceError } from "../errors.ts";
import { readCheckedFile } from "./checked-file.ts";
import { problemAt, problemLine } from "./problem.ts";
import { type DescribedWorld, worldSchema } from "./world-schema.ts";

const WANTED = {
  noun: "a described world",
  hint: "name a YAML file such as config/world.yaml of the package; `mrm-trace schema world` says what it may hold",
};

export interface WorldFile {
  readonly described: DescribedWorld;
  /** The error for a stratum, with its place in the file, of which only its draws show that it cannot be had. */
  refuse(stratum: number, message: string, hint: string): MrmTraceError;
}

/** @throws MrmTraceError usage, with every problem of the file and its line */
export function readWorldFile(path: string): WorldFile {
  const { value, yaml } = readCheckedFile(path, worldSchema, WANTED, `mrm-trace simulate ${path}`);
  return {
    described: value,
    refuse(stratum, message, hint) {
      const problem = problemAt(yaml, ["strata", stratum], message, { received: null });
      return new MrmTraceError("usage", problemLine(path, problem), hint);
    },
  };
}
