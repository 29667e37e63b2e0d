import { expect, test } from "bun:test";
import { dirname, join, relative } from "node:path";
import { Glob } from "bun";

const SOURCE = new URL("../../src/", import.meta.url).pathname;
const BASE = [
  "schema",
  "config",
  "errors.ts",
  "units.ts",
  "runtime.ts",
  "statistics",
  "columnar",
  "run-directory",
  "sql",
  "regions",
  "elf",
];
/** What each room may import besides itself; the pipelines and what starts them see all rooms. */
const ALLOWED: Record<string, readonly string[]> = {
  ...Object.fromEntries(BASE.map((room) => [room, BASE])),
  kernel: BASE,
  target: [...BASE, "kernel"],
  client: [...BASE, "kernel"],
  code: [...BASE, "kernel"],
  engine: [...BASE, "kernel"],
  demo: [...BASE, "kernel", "target", "engine"],
  collect: [...BASE, "kernel", "target", "client", "code", "engine"],
  overhead: [...BASE, "kernel", "target"],
  label: BASE,
  analyse: [...BASE, "label"],
  scrub: [...BASE, "engine", "collect", "overhead", "label"],
  report: [...BASE, "label", "analyse"],
  card: [...BASE, "label", "analyse", "report"],
  budget: [...BASE, "label", "analyse", "report"],
  "what-if": [...BASE, "label", "analyse", "report"],
  export: [...BASE, "label", "analyse", "report"],
  simulate: [...BASE, "code", "collect", "record", "label", "analyse"],
  doctor: [...BASE, "kernel", "target", "code", "engine", "demo", "collect", "overhead"],
  record: [...BASE, "kernel", "target", "engine", "collect", "overhead", "report"],
};
const FREE = [
  "api",
  "commands",
  "cli.ts",
  "command-line.ts",
  "build.ts",
  "index.ts",
  "pipelines",
  "compare",
  "experiment",
];

/** Imports of every file that point against the direction of the data. */
async function forbiddenImports(): Promise<string[]> {
  const found: string[] = [];
  for await (const file of new Glob("**/*.ts").scan(SOURCE)) {
    const room = file.split("/")[0] ?? "";
    if (FREE.includes(room)) continue;
    const allowed = ALLOWED[room];
    const text = await Bun.file(join(SOURCE, file)).text();
    for (const match of text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)) {
      const target = relative(SOURCE, join(SOURCE, dirname(file), match[1] ?? ""));
      const targetRoom = target.split("/")[0] ?? "";
      if (targetRoom !== room && !allowed?.includes(targetRoom)) found.push(`${file} imports ${target}`);
    }
  }
  return found;
}

test("imports follow the data: collect, columnar, label, analyse, report", async () => {
  expect(await forbiddenImports()).toEqual([]);
});

test("every room of src is one that the direction knows", async () => {
  const rooms = new Set<string>();
  for await (const file of new Glob("**/*.ts").scan(SOURCE)) rooms.add(file.split("/")[0] ?? "");
  expect([...rooms].filter((room) => !(room in ALLOWED) && !FREE.includes(room))).toEqual([]);
});

/** Packages that a file and all that it imports load. */
async function packagesOf(file: string, seen = new Set<string>()): Promise<Set<string>> {
  const packages = new Set<string>();
  if (seen.has(file) || !file.endsWith(".ts")) return packages;
  seen.add(file);
  const imports = new Bun.Transpiler({ loader: "ts" }).scanImports(await Bun.file(file).text());
  for (const { path } of imports) {
    if (!path.startsWith(".")) packages.add(path);
    else for (const name of await packagesOf(join(dirname(file), path), seen)) packages.add(name);
  }
  return packages;
}

test("the thread that writes segments loads no package: every recorder would pay for it before its first row", async () => {
  expect(await packagesOf(join(SOURCE, "columnar/arrow/wasm-reader.ts"))).toContain("apache-arrow");
  const packages = await packagesOf(join(SOURCE, "columnar/segments/encoder-worker.ts"));
  expect([...packages].filter((name) => !name.startsWith("node:"))).toEqual([]);
});
