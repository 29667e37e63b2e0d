/** A server of Ollama whose files are all in one folder, with one model. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, run } from "./ollama-environment.ts";

/** What it is asked for. */
export const MODEL = "mrm";
/** Settings of the model: prompts are given to it as they are. One thread: two would wait for each other where the CPUs are shared. */
const TEMPLATE = `TEMPLATE """{{ .Prompt }}"""\nPARAMETER num_thread 1\n`;

/** @param host where it listens @param engine more variables */
export const settings = (host: string, engine: Readonly<Record<string, string>>): Record<string, string> => ({
  ...(process.env as Record<string, string>),
  ...{ HOME: folder, OLLAMA_HOST: host, OLLAMA_MODELS: join(folder, "store") },
  ...{ OLLAMA_KEEP_ALIVE: "10m", OLLAMA_NOHISTORY: "1", NO_COLOR: "1", ...engine },
});

/**
 * Starts it, and gives it the model of a file.
 * @param url of `settings`, where it answers
 * @param parameters of the model, as a Modelfile names them
 */
export async function startOllama(
  command: string,
  env: Readonly<Record<string, string>>,
  url: string,
  model: string,
  parameters: Readonly<Record<string, number>>,
): Promise<AsyncDisposable & { readonly pid: number }> {
  mkdirSync(join(folder, "store"), { recursive: true });
  const child = Bun.spawn([command, "serve"], {
    env,
    stdout: "ignore",
    stderr: Bun.file(join(folder, "serve.log")),
  });
  await using starting = new AsyncDisposableStack();
  starting.defer(async () => {
    child.kill("SIGTERM");
    await child.exited;
  });
  for (let i = 0; i < 300 && !(await fetch(url).catch(() => null))?.ok; i++) await Bun.sleep(100);
  const modelfile = join(folder, "Modelfile");
  const lines = Object.entries(parameters).map(([name, value]) => `PARAMETER ${name} ${value}\n`);
  writeFileSync(modelfile, `FROM ${model}\n${TEMPLATE}${lines.join("")}`);
  await run([command, "create", MODEL, "-f", modelfile], env);
  const owned = starting.move();
  return { pid: child.pid, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
