import { afterAll, test as bunTest, describe, expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OpenedRun, openRun } from "../../../src/api/open-run.ts";
import { pythonPackage } from "../../fixtures/python-package.ts";
import { jsonOf, outputFolder, QUICK, runCli } from "../run/cli.ts";

setDefaultTimeout(120_000);

const SCRIPT = new URL("../../fixtures/map_safetensors.py", import.meta.url).pathname;
const found = await pythonPackage();
if (!found.ok) process.stderr.write(`skipped: a real Python with the package safetensors: ${found.reason}\n`);
const python = found.ok ? found.python : "";
const test = bunTest.skipIf(!found.ok);

const folder = mkdtempSync(join(tmpdir(), "mrm-weights-"));
const output = outputFolder();
afterAll(() => {
  for (const path of [folder, output]) rmSync(path, { recursive: true });
});

interface Report {
  readonly run_dir: string;
  readonly engine: { readonly name: string } | null;
  readonly warnings: readonly string[];
  readonly target: { readonly decode_tokens: number | null };
}

/** A process that reads a file of tensors; `sizes` resolves once all are there. */
function reading(path: string) {
  const child = Bun.spawn([python, SCRIPT, path, "map"], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const sizes = (async () => {
    const { value } = await child.stdout.getReader().read();
    return JSON.parse(new TextDecoder().decode(value)) as Record<string, number>;
  })();
  return { child, sizes };
}

/** Rows of a table as objects. */
const rowsOf = (opened: OpenedRun, name: Parameters<OpenedRun["table"]>[0]) =>
  opened.table(name).toArray() as unknown as Record<string, unknown>[];

/** Bytes by tensor of the weights of a run, and what else the map says of them. */
function weightsOf(runDir: string) {
  const opened = openRun(runDir);
  try {
    const regions = rowsOf(opened, "region_map");
    const weights = regions.filter(({ region_type }) => region_type === "weight");
    return {
      regions,
      weights,
      sizes: Object.fromEntries(weights.map(({ tensor, size_bytes }) => [tensor, Number(size_bytes)])),
    };
  } finally {
    opened.close();
  }
}

/** The file's own sizes, but for tensors without bytes, which lie nowhere. */
const withBytes = (sizes: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(sizes).filter(([, bytes]) => bytes > 0));

const WANTED = {
  "model.embed_tokens.weight": 256_000,
  "model.layers.0.self_attn.q_proj.weight": 8192,
  "model.layers.1.mlp.up_proj.weight": 65_536,
  "model.norm.weight": 256,
  mask: 217,
};

describe("a process that maps a file of the format safetensors", () => {
  test("has its weights by name, with the bytes of the header, when it is run", async () => {
    const path = join(folder, "run.safetensors");
    const ended = await runCli(["run", "--json", ...QUICK, "--output", output, "--", python, SCRIPT, path, "map"]);
    expect([ended.exitCode, ended.stderr]).toEqual([0, expect.any(String)]);
    const report = jsonOf(ended) as unknown as Report;
    const { sizes, weights, regions } = weightsOf(report.run_dir);
    expect(sizes).toEqual(WANTED);
    for (const { evidence, mapping_kind, birth_censored } of weights) {
      expect([evidence, mapping_kind, birth_censored]).toEqual(["file_header", "file", false]);
    }
    const layers = weights.map(({ tensor, layer }) => [tensor, layer]);
    expect(Object.fromEntries(layers)).toMatchObject({ mask: null, "model.layers.1.mlp.up_proj.weight": 1 });
    const rest = regions.filter(({ name }) => name === path);
    expect(rest.map(({ region_type, evidence }) => [region_type, evidence])).toContainEqual(["runtime", "file_header"]);
    // A header tells nothing of other memory: nobody says what the heap holds.
    const heap = regions.filter(({ mapping_kind }) => mapping_kind === "heap" || mapping_kind === "anon");
    expect([...new Set(heap.map(({ region_type }) => region_type))]).toEqual(["unknown"]);
    expect(report).toMatchObject({ engine: { name: "safetensors" }, target: { decode_tokens: null } });
    expect(report.warnings.filter((text) => text.includes(path))).toEqual([]);
  });

  test("has them when it is attached to long after it mapped the file, born at a time that nobody knows", async () => {
    const path = join(folder, "attach.safetensors");
    const { child, sizes } = reading(path);
    try {
      const wanted = withBytes(await sizes);
      const args = ["attach", String(child.pid), "--json", "--duration", "1s", ...QUICK, "--output", output];
      const ended = await runCli(args);
      expect(ended.exitCode).toBe(0);
      const found = weightsOf((jsonOf(ended) as unknown as Report).run_dir);
      expect(found.sizes).toEqual(wanted);
      expect(found.weights.every(({ birth_censored }) => birth_censored === true)).toBe(true);
    } finally {
      child.stdin.end();
      expect(await child.exited).toBe(0);
    }
  });

  test("that copied its tensors and let go of the file has none by name, and why is said", async () => {
    const path = join(folder, "copy.safetensors");
    const ended = await runCli(["run", "--json", ...QUICK, "--output", output, "--", python, SCRIPT, path, "copy"]);
    expect(ended.exitCode).toBe(0);
    const report = jsonOf(ended) as unknown as Report;
    const said = report.warnings.filter((text) => text.startsWith(path));
    expect(said).toEqual([
      expect.stringContaining("its tensors were copied, and which of them lies where is not identifiable"),
    ]);
    const { regions } = weightsOf(report.run_dir);
    const heap = regions.filter(({ mapping_kind }) => mapping_kind === "heap" || mapping_kind === "anon");
    expect([...new Set(heap.map(({ region_type }) => region_type))]).toEqual(["unknown"]);
  });
});
