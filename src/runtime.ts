/** How Bun is started, by bin/mrm-trace and for every child: code and settings come from this package alone. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { MrmTraceError } from "./errors.ts";

const ROOT = resolve(import.meta.dir, "..");
const BIN = join(ROOT, "bin");

/** The launcher, for messages. */
export const LAUNCHER = join(BIN, "mrm-trace");

/** An empty file: paths that a folder maps to its own files are not followed. */
export const TSCONFIG = join(BIN, "tsconfig.json");

const FLAGS = [
  "--no-env-file",
  `--config=${join(BIN, "bunfig.toml")}`,
  `--tsconfig-override=${TSCONFIG}`,
  "--no-install",
] as const;

/** The words before the path of a script, for every Bun that we start. */
export const RUNTIME: readonly string[] = [process.execPath, ...FLAGS];

/** Where Bun keeps compiled code. Its folder is below a home, which may be a user's while we are root. */
const COMPILED = "BUN_RUNTIME_TRANSPILER_CACHE_PATH";

/** For the environment of every Bun that we start with our privileges. */
export const RUNTIME_ENV: Readonly<Record<string, string>> = process.getuid?.() === 0 ? { [COMPILED]: "0" } : {};

/** Removes what the launcher put into our environment: what we launch gets its own unchanged. */
export function forgetLauncher(env: NodeJS.ProcessEnv = process.env): void {
  if (COMPILED in RUNTIME_ENV) delete env[COMPILED];
}

/** What Bun reads in the folder where it is started, and in those above it. */
const HERE = ["bunfig.toml", ".env", ".env.local", ".env.development", ".env.production", ".env.test"];
const ABOVE = ["tsconfig.json", "jsconfig.json"];

/**
 * Refuses to go on as root where Bun was started by hand in a folder whose settings it took. Such settings may have run
 * code before this: that cannot be told any more, and only the launcher prevents it.
 * @throws MrmTraceError environment, with the path of what was read
 */
export function refuseForeignSettings(
  flags: readonly string[] = process.execArgv,
  folder: string = process.cwd(),
  uid: number | undefined = process.getuid?.(),
): void {
  if (uid !== 0 || FLAGS.every((flag) => flags.some((given) => given.split("=")[0] === flag.split("=")[0]))) return;
  const places = HERE.map((name) => join(folder, name));
  for (let above = folder; ; above = dirname(above)) {
    places.push(...ABOVE.map((name) => join(above, name)));
    if (above === dirname(above)) break;
  }
  const found = places.find((path) => dirname(path) !== ROOT && existsSync(path));
  if (found === undefined) return;
  const hint = `start it by its launcher: ${LAUNCHER}`;
  throw new MrmTraceError("environment", `root was about to take settings of Bun from ${found}`, hint);
}
