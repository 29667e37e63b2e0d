/** Writes dist/build.json, from which a package knows the commit that it was packed from. */
import { $ } from "bun";

const root = new URL("..", import.meta.url).pathname;
const commit = (await $`git rev-parse --short=12 HEAD`.cwd(root).quiet().nothrow().text()).trim();
if (!/^[0-9a-f]{12}$/.test(commit)) {
  process.stderr.write("mrm-trace: the commit is not known; pack in a clone of the repository\n");
  process.exit(1);
}
const changed = (await $`git status --porcelain`.cwd(root).quiet().text()).trim() !== "";
await Bun.write(`${root}/dist/build.json`, `${JSON.stringify({ commit: `${commit}${changed ? "-changed" : ""}` })}\n`);
