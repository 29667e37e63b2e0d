/** Writes every generated file from its table; with --check it fails on the first that differs. */
import { generatedFiles } from "./generated.ts";

const check = process.argv.includes("--check");
let stale = 0;
for (const [path, text] of await generatedFiles()) {
  const url = new URL(`../${path}`, import.meta.url);
  const file = Bun.file(url);
  const now = (await file.exists()) ? await file.text() : "";
  if (now === text) continue;
  if (check) process.stderr.write(`stale: ${path}\n`);
  else await Bun.write(url, text);
  stale += 1;
}
if (check && stale > 0) {
  process.stderr.write("generated files differ from their tables; run: bun run generate\n");
  process.exit(1);
}
