/** What a page tells to type, or names of the repository, is there: an option that is renamed is renamed in the pages too. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { loadVerbs } from "../../../src/commands/verbs.ts";
import { unknownFlag } from "../../../src/config/flags.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const PAGES = ["README.md", ...new Glob("docs/*.md").scanSync(ROOT)];

/** What stands between fences or backquotes. */
function codeOf(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const fences = [...text.matchAll(/^```\w*\n(.*?)^```/gms)].map(([, code = ""]) => code);
  const spans = [...text.replace(/^```.*?^```/gms, "").matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
  return [...fences, ...spans];
}

const code = PAGES.flatMap((page) => codeOf(page).map((text) => ({ page, text })));

test("every command that a page tells is there, and has the options that it is told with", async () => {
  const verbs = await loadVerbs();
  const commands = code.flatMap(({ page, text }) =>
    [...text.matchAll(/\bmrm-trace ([a-z][a-z-]+)([^\n|#;:]*)/g)].map(([all, name = "", rest = ""]) => {
      const words = (rest.split(" -- ")[0] ?? "").match(/(?<![\w-])--?[a-z][\w=.-]*/g) ?? [];
      return { page, all, name, words };
    }),
  );
  expect(commands.length).toBeGreaterThan(100);
  for (const { page, all, name, words } of commands) {
    const verb = name === "help" ? undefined : verbs[name];
    expect([page, all, name === "help" || verb !== undefined]).toEqual([page, all, true]);
    if (verb !== undefined) expect([page, all, unknownFlag(words, verb.args)]).toEqual([page, all, null]);
  }
});

test("every file of the repository that a page names is there", () => {
  const named = code.flatMap(({ page, text }) =>
    [...text.matchAll(/^(?:bun )?((?:src|tests|scripts|bpf|config|docs|bin|examples)\/[\w./-]+)/g)].map(
      ([, path = ""]) => ({ page, path }),
    ),
  );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([]);
});
