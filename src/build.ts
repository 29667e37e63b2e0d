/** Which build this is: the package carries the commit that it was packed from. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const FILE = join(import.meta.dir, "../dist/build.json");
const buildSchema = z.object({ commit: z.string().regex(/^[0-9a-f]{7,64}(-changed)?$/) });

/** The commit, with `-changed` where files differed from it; `dev` in a work tree, where nothing was packed. */
export function buildName(): string {
  try {
    return buildSchema.parse(JSON.parse(readFileSync(FILE, "utf8"))).commit;
  } catch {
    return "dev";
  }
}
