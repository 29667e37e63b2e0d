/** Installs real llama.cpp for the demo, once, by the lock in `package/`. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { makeCacheDir } from "./cache.ts";
import enginePackage from "./package/package.json" with { type: "json" };

const PACKAGE_DIR = join(import.meta.dir, "package");
const PACKAGE_FILES = ["package.json", "bun.lock"] as const;
const BINARIES = "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64";
/** The CPU package alone is 85 MB; the optional ones for graphics cards make 725 MB of it. */
const INSTALL_ARGUMENTS = ["install", "--frozen-lockfile", "--omit=optional", "--omit=peer", "--ignore-scripts"];

/** How the wait for what is made once can be watched and ended. */
export interface Preparation {
  /** Ends the preparation; nothing half made stays behind. */
  readonly signal?: AbortSignal;
  /** Told in one line what is downloaded or written, before it is. */
  readonly notice?: (line: string) => void;
}

/** The module to import from an installed engine. */
export function engineModule(engineDir: string): string {
  return join(engineDir, "node_modules/node-llama-cpp/dist/index.js");
}

/** The shared objects of an installed engine, by the paths under which they will be mapped; one CPU variant of all is. */
export function engineObjects(engineDir: string): string[] {
  const folder = realpathSync(join(engineDir, BINARIES));
  return readdirSync(folder)
    .filter((name) => name.endsWith(".so") || name.endsWith(".node"))
    .sort()
    .map((name) => join(folder, name));
}

function isComplete(engineDir: string): boolean {
  return existsSync(engineModule(engineDir)) && existsSync(join(engineDir, BINARIES, "llama-addon.node"));
}

/** One folder per lock: another version is another folder, and an old one is never half changed. */
function folderName(): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const name of PACKAGE_FILES) hash.update(readFileSync(join(PACKAGE_DIR, name)));
  return `demo-engine-${hash.digest("hex").slice(0, 12)}`;
}

/** The engine and its version, as the lock has it. */
function engineName(): string {
  const { dependencies } = enginePackage;
  return `node-llama-cpp ${dependencies["node-llama-cpp"]}`;
}

/** The folder of the installed engine below `cacheDir`; null where it is not there. */
export function installedDemoEngine(cacheDir: string): string | null {
  const engineDir = join(cacheDir, folderName());
  return isComplete(engineDir) ? engineDir : null;
}

/**
 * The folder of the installed engine below `cacheDir`; installs it (about 35 MB to download, 85 MB on disk) if it is not there.
 * A half installation is never seen: it is made beside its place and renamed.
 * @throws MrmTraceError environment (not Linux x86-64, offline, cache not writable), with the command that does it by hand; what `signal` carries
 */
export async function ensureDemoEngine(cacheDir: string, { signal, notice }: Preparation = {}): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new MrmTraceError(
      "environment",
      `the demo engine is built for Linux x86-64, this is ${process.platform} ${process.arch}`,
      "trace a command of your own: mrm-trace run -- COMMAND",
    );
  }
  const engineDir = join(cacheDir, folderName());
  if (isComplete(engineDir)) return engineDir;
  makeCacheDir(cacheDir);
  notice?.(`installing the demo engine, ${engineName()} (about 35 MB to download), once, into ${engineDir}`);
  const staging = mkdtempSync(join(cacheDir, ".demo-engine-"));
  try {
    for (const name of PACKAGE_FILES) cpSync(join(PACKAGE_DIR, name), join(staging, name));
    await install(staging, engineDir, signal);
    moveInto(staging, engineDir);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  return engineDir;
}

async function install(staging: string, engineDir: string, signal: AbortSignal | undefined): Promise<void> {
  // Bun's own download cache would hold hard links to what lies here.
  const downloads = join(staging, ".downloads");
  const child = Bun.spawn([process.execPath, ...INSTALL_ARGUMENTS], {
    cwd: staging,
    env: { ...process.env, BUN_INSTALL_CACHE_DIR: downloads },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    ...(signal && { signal }),
  });
  const stderr = await new Response(child.stderr).text();
  const exitCode = await child.exited;
  signal?.throwIfAborted();
  rmSync(downloads, { recursive: true, force: true });
  if (exitCode === 0 && isComplete(staging)) return;
  const reason = stderr.trim().split("\n").slice(-3).join("; ");
  throw new MrmTraceError(
    "environment",
    `the demo engine could not be installed: ${reason || `exit code ${exitCode}`}`,
    `connect this machine to the npm registry and run again, or run: ${byHand(engineDir)}`,
  );
}

/** The shell command that does what `install` does. */
function byHand(engineDir: string): string {
  const quote = (path: string) => `'${path.replaceAll("'", "'\\''")}'`;
  const sources = PACKAGE_FILES.map((name) => quote(join(PACKAGE_DIR, name))).join(" ");
  const target = quote(engineDir);
  const bun = quote(process.execPath);
  return `mkdir -p ${target} && cp ${sources} ${target} && cd ${target} && ${bun} ${INSTALL_ARGUMENTS.join(" ")}`;
}

/** Renames into place; another run that was faster has done the same work. */
function moveInto(staging: string, engineDir: string): void {
  if (existsSync(engineDir) && !isComplete(engineDir)) rmSync(engineDir, { recursive: true, force: true });
  try {
    renameSync(staging, engineDir);
  } catch (cause) {
    if (!isComplete(engineDir)) throw cause;
  }
}
