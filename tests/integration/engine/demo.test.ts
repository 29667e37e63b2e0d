import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { demoCacheDir } from "../../../src/demo/cache.ts";
import { type DemoCommand, type DemoOptions, demoCommand } from "../../../src/demo/demo.ts";
import { ensureDemoModel } from "../../../src/demo/demo-model.ts";
import { engineModule, ensureDemoEngine } from "../../../src/demo/install.ts";
import { MODEL_TYPES } from "../../../src/demo/model/weight-type.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { TRACER_PID } from "../../../src/demo/parent.ts";
import type { DemoReport } from "../../../src/demo/report.ts";
import { readGgufFile } from "../../../src/engine/gguf/file.ts";
import { TENSOR_TYPES } from "../../../src/engine/gguf/tensor-type.ts";
import { MrmTraceError } from "../../../src/errors.ts";
import { treeTicks } from "../../../src/target/tree-cpu.ts";
import { lineReader } from "../../fixtures/line-reader.ts";
import { isRunning, waitUntil } from "../../fixtures/wait-until.ts";

let folder = "";
const models: Record<string, string> = {};
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mrm-demo-"));
  for (const type of MODEL_TYPES) {
    models[type] = join(folder, `${type}.gguf`);
    await writeModel({ params: "1m", type, seed: 1 }, models[type]);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A demo of a tiny model; the engine is shared with other runs on this machine, the models are not. */
function tinyDemo(options: Partial<DemoOptions>): Promise<DemoCommand> {
  return demoCommand({ cacheDir: demoCacheDir(), model: models.q8_0, threads: 1, ...options });
}

function spawn(demo: DemoCommand) {
  return Bun.spawn(demo.command, { env: { ...process.env, ...demo.env }, stdout: "pipe", stderr: "pipe" });
}

async function outcome(child: ReturnType<typeof spawn>) {
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exitCode: await child.exited, stdout, stderr };
}

async function reportOf(options: Partial<DemoOptions>): Promise<DemoReport> {
  const { exitCode, stdout, stderr } = await outcome(spawn(await tinyDemo(options)));
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}

/** Waits until `ready` is true. @throws Error after half a minute */
async function until(ready: () => boolean): Promise<void> {
  if (!(await waitUntil(ready))) throw new Error("waited too long");
}

function mappedObjects(pid: number): string[] {
  const paths = readFileSync(`/proc/${pid}/maps`, "utf8").match(/\/\S+\.(so|node)\b\S*/g) ?? [];
  return [...new Set(paths)].filter((path) => path.includes("node-llama-cpp"));
}

describe("the demo", () => {
  test.each([...MODEL_TYPES])("decodes a random %s model by real llama.cpp", async (type) => {
    const report = await reportOf({ model: models[type], tokens: 12, flashAttention: "on" });
    expect(report).toMatchObject({ prompt_tokens: 66, prefills: 1, decode_tokens: 12, n_ctx: 512, threads: 1 });
    expect(report.flash_attention).toBe(true);
    // 2 layers x 2 heads x 32 x (K + V) x 2 bytes x 512 tokens.
    expect(report.kv_buffer_bytes).toBe(2 * 2 * 32 * 2 * 2 * 512);
    expect(report.decode_tokens_per_s).toBeGreaterThan(0);
    expect(report.ttft_ms).toBeGreaterThan(0);
  });

  test("samples the same tokens for the same seed, others for another", async () => {
    const [a, b, c] = [
      await reportOf({ tokens: 40, seed: 5 }),
      await reportOf({ tokens: 40, seed: 5 }),
      await reportOf({ tokens: 40, seed: 6 }),
    ];
    expect(b.token_digest).toBe(a.token_digest);
    expect(c.token_digest).not.toBe(a.token_digest);
  });

  test("clears the context when it is full and goes on", async () => {
    const report = await reportOf({ contextTokens: 256, tokens: 500 });
    const perPrefill = report.n_ctx - 1 - report.prompt_tokens;
    expect(report).toMatchObject({ decode_tokens: 500, prefills: Math.ceil(500 / perPrefill) });
  });

  test("reads back that flash attention is off, or what auto became", async () => {
    expect((await reportOf({ tokens: 1, flashAttention: "off" })).flash_attention).toBe(false);
    expect((await reportOf({ tokens: 1, flashAttention: "auto" })).flash_attention).toBe(true);
  });

  test("decodes for the time that it was told", async () => {
    const report = await reportOf({ seconds: 1 });
    expect(report.decode_tokens / (report.decode_tokens_per_s ?? 0)).toBeWithin(0.5, 1.5);
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "still reports after %s, once or twice, and maps only the objects it named",
    async (signal) => {
      const reportPath = join(folder, `${signal}.json`);
      const demo = await tinyDemo({ seconds: 60, reportPath });
      const child = spawn(demo);
      await until(() => mappedObjects(child.pid).some((path) => basename(path).startsWith("libggml-cpu-")));
      const nextLine = lineReader(child.stdout);
      for (let line = await nextLine(); line !== null && !line.includes("loaded in"); ) line = await nextLine();
      // It decodes when it has had a CPU for a while.
      const loadedTicks = treeTicks(child.pid);
      await until(() => treeTicks(child.pid) > loadedTicks + 30);
      const mapped = mappedObjects(child.pid);
      child.kill(signal);
      await Bun.sleep(5);
      child.kill(signal);
      const stderr = await new Response(child.stderr).text();
      const exitCode = await child.exited;
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      const report: DemoReport = JSON.parse(readFileSync(reportPath, "utf8"));
      expect(report.decode_tokens).toBeGreaterThan(0);
      expect(statSync(reportPath).mode & 0o777).toBe(0o600);
      expect(mapped.length).toBeGreaterThanOrEqual(5);
      for (const path of mapped) expect(demo.objects).toContain(path);
    },
  );

  test("ends when its parent is killed", async () => {
    const demo = await tinyDemo({ seconds: 60 });
    const parent = Bun.spawn(["sh", "-c", '"$@" >/dev/null & echo $!; wait', "sh", ...demo.command], {
      stdout: "pipe",
    });
    const { value } = await parent.stdout.getReader().read();
    const pid = Number(new TextDecoder().decode(value));
    await until(() => mappedObjects(pid).length > 0);
    parent.kill("SIGKILL");
    await until(() => !isRunning(pid));
  });

  test("ends when its tracer is killed, though its parent lives", async () => {
    const tracer = Bun.spawn(["sleep", "100"]);
    const demo = await tinyDemo({ seconds: 60 });
    const child = spawn({ ...demo, env: { [TRACER_PID]: String(tracer.pid) } });
    await until(() => mappedObjects(child.pid).length > 0);
    tracer.kill("SIGKILL");
    await tracer.exited;
    await until(() => !isRunning(child.pid));
  });

  test("says what is wrong with a truncated model and with no model", async () => {
    const cut = join(folder, "cut.gguf");
    copyFileSync(models.q8_0 ?? "", cut);
    truncateSync(cut, 300_000);
    for (const [model, reason] of [
      [cut, "truncated"],
      [join(folder, "none.gguf"), "ENOENT"],
    ] as const) {
      const { exitCode, stderr } = await outcome(spawn(await tinyDemo({ model })));
      expect(exitCode).toBe(1);
      expect(stderr).toContain(`${model} is not a whole GGUF`);
      expect(stderr).toContain(reason);
      expect(stderr).not.toContain("    at ");
    }
  });

  test("is not changed by a bunfig.toml or .env of the folder it runs in", async () => {
    const cwd = mkdtempSync(join(folder, "cwd-"));
    await Bun.write(join(cwd, "bunfig.toml"), 'preload = ["./missing.ts"]\n');
    await Bun.write(join(cwd, ".env"), "NODE_LLAMA_CPP_GPU=vulkan\n");
    const demo = await tinyDemo({ tokens: 2 });
    const child = Bun.spawn(demo.command, { cwd, stdout: "pipe", stderr: "pipe" });
    expect(await outcome(child)).toMatchObject({ exitCode: 0, stderr: "" });
  });
});

describe("the demo's model", () => {
  test("is written once, and again when it is not whole", async () => {
    const spec = { params: "1m", type: "q4_0", seed: 4 } as const;
    const said: string[] = [];
    const path = await ensureDemoModel(folder, spec, { notice: (line) => said.push(line) });
    expect(said).toEqual([expect.stringContaining(`once, to ${path}`)]);
    const { mtimeMs, size } = statSync(path);
    expect(await ensureDemoModel(folder, spec)).toBe(path);
    expect(statSync(path).mtimeMs).toBe(mtimeMs);
    truncateSync(path, size - 32);
    await ensureDemoModel(folder, spec);
    expect([statSync(path).size, readGgufFile(path).ok]).toEqual([size, true]);
  });
});

describe("the demo's engine", () => {
  test("is installed whole by two runs at once, and then found", async () => {
    const cacheDir = mkdtempSync(join(folder, "cache-"));
    const said: string[] = [];
    const notice = (line: string) => said.push(line);
    const [one, other] = await Promise.all([
      ensureDemoEngine(cacheDir, { notice }),
      ensureDemoEngine(cacheDir, { notice }),
    ]);
    expect(one).toBe(other);
    expect(said[0]).toBe(
      `installing the demo engine, node-llama-cpp 3.22.1 (about 35 MB to download), once, into ${one}`,
    );
    await ensureDemoEngine(cacheDir, { notice });
    expect(said).toHaveLength(2);
    expect(readdirSync(cacheDir)).toEqual([basename(one)]);
    const bytes = Number(Bun.spawnSync(["du", "-sb", one]).stdout.toString().split("\t")[0]);
    expect(bytes / 85e6).toBeWithin(0.8, 1.2);
  });

  test("leaves nothing when the installation is stopped", async () => {
    const cacheDir = mkdtempSync(join(folder, "stopped-"));
    const controller = new AbortController();
    const installing = ensureDemoEngine(cacheDir, { signal: controller.signal }).catch((cause: unknown) => cause);
    controller.abort(new MrmTraceError("interrupted", "stopped", ""));
    expect(await installing).toMatchObject({ code: "interrupted" });
    expect(readdirSync(cacheDir)).toEqual([]);
  });

  test("cannot be installed offline, says how by hand, and leaves nothing", async () => {
    const cacheDir = mkdtempSync(join(folder, "offline-"));
    process.env.BUN_CONFIG_REGISTRY = "http://127.0.0.1:9/";
    try {
      const error = await ensureDemoEngine(cacheDir).catch((cause: unknown) => cause);
      if (!(error instanceof MrmTraceError)) throw error;
      expect(error.code).toBe("environment");
      expect(error.hint).toContain("install --frozen-lockfile --omit=optional --omit=peer --ignore-scripts");
      expect(error.hint).toContain(`cd '${cacheDir}/demo-engine-`);
      expect(readdirSync(cacheDir)).toEqual([]);
    } finally {
      delete process.env.BUN_CONFIG_REGISTRY;
    }
  });

  test("agrees with our table of tensor types", async () => {
    const module = engineModule(await ensureDemoEngine(demoCacheDir()));
    const program = `
      const { getLlama } = await import(${JSON.stringify(module)});
      const { _bindings: b } = await getLlama({ gpu: false, build: "never" });
      const ids = Array.from({ length: 64 }, (_, id) => [id, b.getBlockSizeForGgmlType(id), b.getTypeSizeForGgmlType(id)]);
      process.stdout.write(JSON.stringify(ids.filter(([, block]) => block > 0)));
    `;
    const child = Bun.spawnSync([process.execPath, "-e", program], { cwd: dirname(module) });
    const ours = [...TENSOR_TYPES].map(([id, { blockElements, blockBytes }]) => [id, blockElements, blockBytes]);
    expect(JSON.parse(child.stdout.toString())).toEqual(ours);
  });
});
