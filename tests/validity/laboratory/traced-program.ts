/** Real programs as a user traces them, for the tables of docs/accuracy-programs.md. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const CLI = new URL("../../../src/cli.ts", import.meta.url).pathname;

/** `mrm-trace run` of a command, its results below a folder. */
export function tracedRun(folder: string, command: readonly string[], seed: number, options: readonly string[] = []) {
  const id = `seed-${seed}`;
  const args = ["run", "--output", folder, "--run-id", id, "--seed", String(seed), ...options, "--", ...command];
  return {
    command: [process.execPath, CLI, ...args],
    /** Its run directory; null before it has ended. */
    runDir: (): string | null => {
      const dirs = existsSync(folder) ? readdirSync(folder).map((model) => join(folder, model, id)) : [];
      return dirs.find((dir) => existsSync(join(dir, "metadata.json"))) ?? null;
    },
  };
}
