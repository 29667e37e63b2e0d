import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020";
import { Glob } from "bun";
import packageJson from "../../../package.json" with { type: "json" };
import { failureJsonSchema, runJsonSchema } from "../../../src/schema/run-json.ts";
import { type Packed, packAndAdd } from "../../fixtures/packed.ts";

const ROOT = new URL("../../..", import.meta.url).pathname;
const README = readFileSync(join(ROOT, "README.md"), "utf8");
const LIBRARY = readFileSync(join(ROOT, "docs/library.md"), "utf8");
const DEMO = ["--params", "1m", "--seconds", "2", "--watch-registers", "0", "--baseline", "100ms"];

let packed: Packed;
beforeAll(async () => {
  packed = await packAndAdd();
}, 120_000);
afterAll(() => packed[Symbol.dispose]());

function files(): string[] {
  const listed = Bun.spawnSync(["tar", "--list", "--file", packed.tarball]).stdout.toString();
  return listed
    .trim()
    .split("\n")
    .map((path) => path.replace(/^package\//, ""));
}

/** Bytes below a folder, with hard links counted once. */
function bytesOf(path: string): number {
  return Number(Bun.spawnSync(["du", "-sb", path]).stdout.toString().split("\t")[0]);
}

describe("the package", () => {
  test("holds sources of the program, BPF objects, licences and nothing of development", () => {
    const sources = ["bpf/*.bpf.c", "config/*.yaml", "config/devices/*.yaml", "docs/*.md", "examples/**/*.*"].flatMap(
      (pattern) => [...new Glob(pattern).scanSync(ROOT)],
    );
    const shipped = sources
      // The long tables of what programs and samples showed are read in the repository.
      .filter((path) => path !== "bpf/bench.bpf.c" && !path.startsWith("docs/accuracy-"))
      .map((path) => path.replace(/^bpf(.*)c$/, "dist/bpf$1o"));
    const outside = files().filter((path) => !path.startsWith("src/"));
    expect(outside.sort()).toEqual(
      [
        "LICENSE",
        "README.md",
        "SECURITY.md",
        "bin/bunfig.toml",
        "bin/mrm-trace",
        "bin/tsconfig.json",
        "bpf/LICENSE",
        "dist/build.json",
        "package.json",
        ...shipped,
      ].sort(),
    );
    expect(files().filter((path) => /test|bench|fixture|vmlinux/.test(path))).toEqual([]);
  });

  test("holds every file that its README names by a link", () => {
    const links = [...README.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) => path ?? "");
    expect(links.length).toBeGreaterThan(0);
    expect(files()).toEqual(expect.arrayContaining(links));
  });

  test("is as large as the README says", () => {
    const stated = /package is (\d+) kB, ([\d.]+) MB unpacked; with its dependencies (\d+) MB/.exec(
      README.replace(/\s+/g, " "),
    );
    const measured = [
      statSync(packed.tarball).size / 1e3,
      bytesOf(join(packed.app, "node_modules/mrm-trace")) / 1e6,
      bytesOf(join(packed.app, "node_modules")) / 1e6,
    ];
    for (const [i, value] of measured.entries()) {
      const ratio = value / Number(stated?.[i + 1]);
      expect({ measured, near: ratio > 0.75 && ratio < 1.25 }).toEqual({ measured, near: true });
    }
  });

  test("knows its version, its commit and its objects", async () => {
    const { stdout, stderr } = await packed.run(["bunx", "mrm-trace", "--version"]);
    expect(stderr).toBe("");
    const [first, build] = stdout.split("\n");
    expect(first).toBe(`mrm-trace ${packageJson.version}`);
    const head = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], { cwd: import.meta.dir }).stdout.toString();
    expect(build).toMatch(new RegExp(`^build ${head.trim()}(-changed)?, bun `));
    expect(stdout).toMatch(/ {2}[0-9a-f]{64} {2}watch\n/);
  });
});

describe("added to an empty folder, without sources, compiler or headers", () => {
  test("bunx mrm-trace run says that it installs the demo engine, and traces it", async () => {
    const ended = await packed.run(["bunx", "mrm-trace", "run", "--json", ...DEMO]);
    expect(ended.stderr).toContain("mrm-trace: installing the demo engine, node-llama-cpp ");
    expect(ended.exitCode).toBe(0);
    const report = runJsonSchema.parse(JSON.parse(ended.stdout));
    expect(report.target.decode_tokens).toBeGreaterThan(0);
    expect(report.labels.map(({ region_type }) => region_type)).toContain("kv_cache");
    const schema = await packed.run(["bunx", "mrm-trace", "schema", "run"]);
    const validate = new Ajv2020().compile(JSON.parse(schema.stdout));
    validate(JSON.parse(ended.stdout));
    expect(validate.errors).toBeNull();
    const metadata: unknown = JSON.parse(readFileSync(join(packed.app, report.run_dir, "metadata.json"), "utf8"));
    expect(metadata).toMatchObject({ software: { build: expect.stringMatching(/^[0-9a-f]{12}/) } });
    // Its script is bundled from the packages beside this one.
    expect(statSync(join(packed.app, report.run_dir, "report.html")).size).toBeGreaterThan(300e3);
  });

  test("offline it refuses the demo with the command that installs its engine, which works", async () => {
    const cache = { MRM_TRACE_CACHE: join(packed.app, "cache") };
    const run = ["bunx", "mrm-trace", "run", "--json", ...DEMO];
    const refused = await packed.run(run, { ...cache, BUN_CONFIG_REGISTRY: "http://127.0.0.1:9/" });
    const { error } = failureJsonSchema.parse(JSON.parse(refused.stdout));
    expect([refused.exitCode, error.code]).toEqual([3, "environment"]);
    const command = error.hint.split("or run: ")[1] ?? "";
    expect((await packed.run(["sh", "-c", command], cache)).exitCode).toBe(0);
    const ended = await packed.run(run, { ...cache, BUN_CONFIG_REGISTRY: "http://127.0.0.1:9/" });
    expect(ended.stderr).not.toContain("installing");
    expect(ended.exitCode).toBe(0);
  });

  test("a command of the user's own is traced", async () => {
    const words = [
      "bunx",
      "mrm-trace",
      "run",
      "--quiet",
      "--watch-registers",
      "0",
      "--baseline",
      "100ms",
      "--",
      "true",
    ];
    expect(await packed.run(words)).toMatchObject({ exitCode: 0, stderr: "" });
  });

  test("the example of docs/library.md runs, and its types hold for a program of Bun", async () => {
    const example = /```ts\n(import .*?)```/s.exec(LIBRARY)?.[1] ?? "";
    writeFileSync(join(packed.app, "example.ts"), example);
    const ended = await packed.run(["bun", "example.ts"]);
    expect(ended.exitCode).toBe(0);
    expect(ended.stderr).toMatch(/^(clean|marginal|contaminated) [\d.]+ s\n/);
    expect(ended.stderr).toMatch(/\nheap \d+ bytes\n(.*\n)*\d+ faults\n$/);
    // The options that `bun init` writes, and its types, which lie in our work tree.
    const compilerOptions = {
      lib: ["ESNext"],
      target: "ESNext",
      module: "Preserve",
      moduleDetection: "force",
      allowJs: true,
      moduleResolution: "bundler",
      allowImportingTsExtensions: true,
      verbatimModuleSyntax: true,
      noEmit: true,
      strict: true,
      skipLibCheck: true,
      noFallthroughCasesInSwitch: true,
      noUncheckedIndexedAccess: true,
      noImplicitOverride: true,
      types: ["bun"],
      typeRoots: [join(ROOT, "node_modules/@types")],
    };
    writeFileSync(join(packed.app, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["example.ts"] }));
    const checked = Bun.spawnSync([join(ROOT, "node_modules/.bin/tsc"), "-p", packed.app]);
    expect([checked.stdout.toString(), checked.exitCode]).toEqual(["", 0]);
    writeFileSync(join(packed.app, "example.ts"), example.replace("numRows", "numRow"));
    const wrong = Bun.spawnSync([join(ROOT, "node_modules/.bin/tsc"), "-p", packed.app]).stdout.toString();
    expect(wrong).toContain("numRow");
  });
});
