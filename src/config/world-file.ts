/** A file that describes a world, read and checked by the schema: everything that is wrong with it at once. */
import { readCheckedFile } from "./checked-file.ts";
import { type DescribedWorld, worldSchema } from "./world-schema.ts";

const WANTED = {
  noun: "a described world",
  hint: "name a YAML file such as config/world.yaml of the package; `mrm-trace schema world` says what it may hold",
};

/** @throws MrmTraceError usage, with every problem of the file and its line */
export function readWorldFile(path: string): DescribedWorld {
  return readCheckedFile(path, worldSchema, WANTED, `mrm-trace simulate ${path}`).value;
}
