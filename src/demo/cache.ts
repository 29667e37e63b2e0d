/** Where the demo keeps what it downloads and writes once. */
import { accessSync, constants, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { invokingUser } from "../target/invoking-user.ts";

/**
 * `$MRM_TRACE_CACHE`, else `mrm-trace` below `$XDG_CACHE_HOME`, else below `~/.cache`; under sudo the home is the invoking user's.
 * @throws MrmTraceError environment where no home is known
 */
export function demoCacheDir(env: NodeJS.ProcessEnv = process.env): string {
  if (env.MRM_TRACE_CACHE) return resolve(env.MRM_TRACE_CACHE);
  if (env.XDG_CACHE_HOME) return resolve(env.XDG_CACHE_HOME, "mrm-trace");
  const home = invokingUser(env)?.home ?? env.HOME;
  if (home) return join(home, ".cache", "mrm-trace");
  throw new MrmTraceError("environment", "no cache folder: HOME is not set", "set MRM_TRACE_CACHE to a folder");
}

/** Makes a folder and those above it. @throws MrmTraceError environment */
export function makeCacheDir(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MrmTraceError(
      "environment",
      `cannot make the cache folder ${path}: ${reason}`,
      "set MRM_TRACE_CACHE to a folder that you may write",
      { cause },
    );
  }
}
