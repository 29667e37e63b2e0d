/** Ollama, built of its Go module in a folder of its own. Needs go, git and g++. */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { demoCacheDir } from "../src/demo/cache.ts";
import { engineModule, ensureDemoEngine } from "../src/demo/install.ts";

export const VERSION = "0.17.4";
/** Below MRM_TRACE_ENGINES. */
export const folder = join(process.env.MRM_TRACE_ENGINES ?? "", `ollama-${VERSION}`);
export const program = join(folder, "bin", "ollama");
/** The same without symbols, as releases are. */
export const stripped = join(folder, "stripped", "ollama");
export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** What a command prints. @throws Error where it fails */
export async function run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const child = Bun.spawn([...command], { env: { ...process.env, ...env }, stdout: "pipe", stderr: "pipe" });
  const [out, said] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.slice(0, 3).join(" ")} failed:\n${said.slice(-3000)}`);
  return out;
}

/** Go's proxy leaves folders called vendor out of a module: these headers are those of the demo's llama.cpp. */
async function headers(): Promise<string> {
  const tree = join(folder, "llama.cpp");
  if (!existsSync(join(tree, "vendor"))) {
    const engine = await ensureDemoEngine(demoCacheDir());
    const bundle = join(dirname(engineModule(engine)), "..", "llama", "gitRelease.bundle");
    rmSync(tree, { recursive: true, force: true });
    await run(["git", "clone", "--quiet", "--no-checkout", bundle, tree]);
    await run(["git", "-C", tree, "checkout", "--quiet", "HEAD", "--", "vendor"]);
  }
  return join(tree, "vendor");
}

/** Some four minutes of a CPU, once. @throws Error where a tool is missing or fails */
export async function build(): Promise<void> {
  if (existsSync(program)) return;
  for (const tool of ["go", "git", "g++"]) if (!Bun.which(tool)) throw new Error(`${tool} is not installed`);
  const flags = `-O1 -I${await headers()}`;
  say(`building ollama ${VERSION} of its Go module: 5 to 10 minutes`);
  const began = performance.now();
  await run(["nice", "-n", "15", "go", "install", `github.com/ollama/ollama@v${VERSION}`], {
    ...{ GOBIN: join(folder, "bin"), CGO_ENABLED: "1", CGO_CFLAGS: flags, CGO_CXXFLAGS: flags },
  });
  say(`built in ${((performance.now() - began) / 60_000).toFixed(1)} min`);
}

export async function strip(): Promise<void> {
  mkdirSync(dirname(stripped), { recursive: true });
  await run(["strip", "-o", stripped, program]);
}
