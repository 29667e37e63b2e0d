/** PyTorch and transformers from PyPI in an environment of their own. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGES = ["torch==2.15.0", "transformers==5.23.0", "safetensors==0.8.0", "numpy==2.4.6"];
/** Below MRM_TRACE_ENGINES. */
export const environment = join(process.env.MRM_TRACE_ENGINES ?? "", "transformers-5.23.0");
export const python = join(environment, "bin", "python");
export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Some minutes, once. @throws Error where a step of it fails */
export async function install(): Promise<void> {
  // The mark is written last: without it, an interrupted installation starts again.
  const mark = join(environment, "installed");
  if (existsSync(mark)) return;
  say(`installing ${PACKAGES.join(" ")}: some minutes`);
  const pip = ["-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check", ...PACKAGES];
  for (const command of [
    ["python3", "-m", "venv", "--clear", environment],
    ["nice", "-n", "15", python, ...pip],
  ]) {
    const child = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "inherit" });
    if ((await child.exited) !== 0) throw new Error(`${command.slice(0, 3).join(" ")} failed`);
  }
  writeFileSync(mark, PACKAGES.join(" "));
}
