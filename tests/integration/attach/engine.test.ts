import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OpenedRun, openRun } from "../../../src/api/open-run.ts";
import { demoCacheDir } from "../../../src/demo/cache.ts";
import { demoCommand } from "../../../src/demo/demo.ts";
import { SHAPES } from "../../../src/demo/model/shape.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import type { DemoReport } from "../../../src/demo/report.ts";
import { readGgufFile } from "../../../src/engine/gguf/file.ts";
import { jsonOf, outputFolder, QUICK, runCli } from "../run/cli.ts";

setDefaultTimeout(120_000);

/** Seven seconds of decoding or more, of which the tracer sees two: on a loaded machine it takes three to begin. */
const TOKENS = 1500;
const CONTEXT = 512;
const folder = mkdtempSync(join(tmpdir(), "mrm-attach-"));
const model = join(folder, "model.gguf");
const output = outputFolder();

interface Figure {
  readonly metric: string;
  readonly region_type: string;
  readonly status: string;
  readonly why: string | null;
}

interface Report {
  readonly run_dir: string;
  readonly model_id: string;
  readonly target: { readonly pid: number; readonly decode_tokens: number };
  readonly ledger: readonly { readonly way: string | null; readonly dropped: string }[];
  readonly metrics: readonly Figure[];
}

/** The demo, decoding a number of tokens by itself; `meanwhile` runs once it has decoded some. */
async function decoding(meanwhile: (pid: number) => Promise<void>): Promise<DemoReport> {
  const { command, env } = await demoCommand({
    cacheDir: demoCacheDir(),
    model,
    threads: 1,
    tokens: TOKENS,
    contextTokens: CONTEXT,
  });
  const child = Bun.spawn(command, { env: { ...process.env, ...env }, stdout: "pipe", stderr: "ignore" });
  let text = "";
  const loaded = Promise.withResolvers<void>();
  const read = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes("loaded in")) loaded.resolve();
    }
  })();
  await loaded.promise;
  await Bun.sleep(300);
  await meanwhile(child.pid);
  await Promise.all([child.exited, read]);
  return JSON.parse(text.trim().split("\n").at(-1) ?? "");
}

let alone: DemoReport;
let traced: DemoReport;
let pid = 0;
let exitCode = -1;
let report: Report;
let opened: OpenedRun;
/** Rows of a table as objects. */
const rows = (name: Parameters<OpenedRun["table"]>[0]) =>
  opened.table(name).toArray() as unknown as Record<string, unknown>[];

beforeAll(async () => {
  await writeModel({ params: "15m", type: "q8_0", seed: 1 }, model);
  alone = await decoding(async () => {});
  traced = await decoding(async (of) => {
    pid = of;
    const ended = await runCli(["attach", String(pid), "--json", "--duration", "2s", ...QUICK, "--output", output]);
    exitCode = ended.exitCode;
    report = jsonOf(ended) as unknown as Report;
  });
  opened = openRun(report.run_dir);
});
afterAll(() => {
  opened?.close();
  for (const path of [folder, output]) rmSync(path, { recursive: true });
});

describe("a decoder that had loaded its model before", () => {
  test("decodes the same tokens as alone, to its own end", () => {
    expect(exitCode).toBe(0);
    expect(traced).toMatchObject({ decode_tokens: TOKENS, token_digest: alone.token_digest });
  });

  test("is named after the model that it maps", () => {
    expect(report.model_id).toBe("random-15m-q8_0-seed-1");
    expect(report.target).toMatchObject({ pid });
  });

  test("shows every weight of its file once, with the file's name, type and bytes", () => {
    const gguf = readGgufFile(model);
    if (!gguf.ok) throw new Error(gguf.reason);
    const wanted = gguf.directory.tensors.map(({ name, type, bytes }) => [name, type, bytes]).sort();
    const seen = rows("tensor").filter(({ kind, region_type }) => kind === "graph" && region_type === "weight");
    expect(seen.map(({ name, tensor_type, size_bytes }) => [name, tensor_type, Number(size_bytes)]).sort()).toEqual(
      wanted,
    );
    const regions = rows("region_map").filter(({ region_type }) => region_type === "weight");
    expect(regions.map(({ tensor, size_bytes }) => [tensor, Number(size_bytes)]).sort()).toEqual(
      wanted.map(([name, , bytes]) => [name, bytes]),
    );
    const inFile = readFileSync(model).length;
    for (const { mapping_kind } of regions) expect(["file", "anon", "heap"]).toContain(mapping_kind as string);
    expect(regions.reduce((sum, { size_bytes }) => sum + Number(size_bytes), 0)).toBeLessThan(inFile);
  });

  test("shows K and V of every layer with the room of its context", () => {
    const { layers, embedding, heads, kvHeads } = SHAPES["15m"];
    const bytes = (embedding / heads) * kvHeads * CONTEXT * 2;
    const names = ["k", "v"].flatMap((part) => Array.from({ length: layers }, (_, i) => `cache_${part}_l${i}`));
    const regions = rows("region_map").filter(({ region_type }) => region_type === "kv_cache");
    expect(regions.map(({ tensor, size_bytes }) => [tensor, Number(size_bytes)]).sort()).toEqual(
      names.map((name) => [name, bytes]),
    );
  });

  test("says of all that was there before that its birth is not known", () => {
    const loaded = rows("region_map").filter(({ region_type }) => region_type !== "runtime");
    expect(loaded.length).toBeGreaterThan(0);
    expect(loaded.filter(({ birth_censored }) => birth_censored !== true).map(({ name }) => name)).toEqual([]);
    const binary = rows("region_map").filter(({ name }) => String(name).includes("libllama"));
    expect(binary.length).toBeGreaterThan(0);
    for (const { birth_censored } of binary) expect(birth_censored).toBe(true);
  });

  test("has its tensors from the first look at the process on, not from the first graph", () => {
    const look = rows("mapping").find(({ kind }) => kind === "snapshot_begin")?.timestamp_ns;
    const tensors = rows("region_map").filter(({ tensor }) => tensor !== null);
    expect(tensors.length).toBeGreaterThan(0);
    expect(new Set(tensors.map(({ birth_ns }) => birth_ns))).toEqual(new Set([look]));
  });

  test("has one step for each token from the first that was seen to the last", () => {
    const steps = rows("step").filter(({ kind, result }) => kind === "decode" && result === 0n);
    expect(steps.length).toBeGreaterThan(100);
    let last: Record<string, unknown> | undefined;
    for (const step of steps) {
      const next = last === undefined ? null : Number(last.position_first) + Number(last.n_tokens);
      // A prompt begins its sequence anew; everything else follows what came before.
      if (next !== null && Number(step.n_tokens) === 1) expect(Number(step.position_first)).toBe(next);
      last = step;
    }
    const decodes = steps.filter(({ n_tokens }) => n_tokens === 1).length;
    expect(report.target.decode_tokens).toBe(decodes);
  });

  test("has no figure of writes for weights, but that there was none", () => {
    const of = (metric: string) => report.metrics.find((row) => row.metric === metric && row.region_type === "weight");
    for (const metric of ["retention_p50_ns", "age_at_read_p50_ns"]) {
      expect(of(metric)).toMatchObject({
        status: "not_identifiable",
        why: expect.stringContaining("no write can be: all of it was mapped without the right to write"),
      });
    }
    expect(of("write_bytes_per_s")).toMatchObject({ status: "ok", source: "region_map", value: 0, lo: 0, hi: 0 });
    expect(of("lifetime_p50_ns")).toMatchObject({ status: "bound" });
  });

  test("loses nothing", () => {
    expect(report.ledger.filter(({ way, dropped }) => way !== "graph" && dropped !== "0")).toEqual([]);
  });
});
