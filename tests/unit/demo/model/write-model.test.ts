import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parameterCount, SHAPES, tensorPlans } from "../../../../src/demo/model/shape.ts";
import { MODEL_TYPES } from "../../../../src/demo/model/weight-type.ts";
import { modelBytes, writeModel } from "../../../../src/demo/model/write-model.ts";
import { generalName, readGgufFile } from "../../../../src/engine/gguf/file.ts";
import { MrmTraceError } from "../../../../src/errors.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-gguf-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function sha256(path: string): string {
  return new Bun.CryptoHasher("sha256").update(readFileSync(path)).digest("hex");
}

async function failure(promise: Promise<unknown>): Promise<MrmTraceError> {
  try {
    await promise;
  } catch (cause) {
    if (cause instanceof MrmTraceError) return cause;
    throw cause;
  }
  throw new Error("it did not fail");
}

describe("a written model", () => {
  test("is what the directory reader finds, for every type", async () => {
    for (const type of MODEL_TYPES) {
      const spec = { params: "1m", type, seed: 3 } as const;
      const path = join(folder, `round-${type}.gguf`);
      const written = await writeModel(spec, path);
      const result = readGgufFile(path);
      if (!result.ok) throw new Error(result.reason);
      const { directory } = result;
      expect(statSync(path).size).toBe(written.bytes);
      expect(modelBytes(spec)).toBe(written.bytes);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(directory.tensors.map(({ name, shape }) => ({ name, shape }))).toEqual(
        tensorPlans(SHAPES["1m"]).map(({ name, shape }) => ({ name, shape: [...shape] })),
      );
      for (const tensor of directory.tensors) expect(tensor.type).toBe(tensor.name.includes("norm") ? "f32" : type);
      const last = directory.tensors.at(-1);
      expect((last?.offset ?? 0) + (last?.bytes ?? 0)).toBe(written.bytes);
      expect(directory.metadata.get("general.architecture")).toBe("llama");
      expect(directory.metadata.get("tokenizer.ggml.tokens")).toEqual({ elementType: "string", length: 512 });
      expect(generalName(path)).toBe(`random 1m ${type} seed 3`);
    }
  });

  test("has the same bytes for the same seed and others for another", async () => {
    const paths = ["a", "b", "c"].map((name) => join(folder, `${name}.gguf`));
    const [a = "", b = "", c = ""] = paths;
    await writeModel({ params: "1m", type: "q4_0", seed: 7 }, a);
    await writeModel({ params: "1m", type: "q4_0", seed: 7 }, b);
    await writeModel({ params: "1m", type: "q4_0", seed: 8 }, c);
    expect(sha256(a)).toBe(sha256(b));
    expect(sha256(c)).not.toBe(sha256(a));
  });

  test("has another shape where one is asked for, and says so in its name", async () => {
    const path = join(folder, "apart.gguf");
    const spec = { params: "1m", type: "q4_0", seed: 1, apart: { layers: 3, vocabulary: 300 } } as const;
    const { bytes, parameters } = await writeModel(spec, path);
    const result = readGgufFile(path);
    if (!result.ok) throw new Error(result.reason);
    expect(result.directory.tensors).toHaveLength(3 + 9 * 3);
    expect(result.directory.metadata.get("tokenizer.ggml.tokens")).toEqual({ elementType: "string", length: 300 });
    expect(generalName(path)).toBe("random 1m q4_0 seed 1 layers 3 vocabulary 300");
    expect(statSync(path).size).toBe(bytes);
    expect(parameters).toBe(parameterCount({ ...SHAPES["1m"], layers: 3, vocabulary: 300 }));
  });

  test("has weights within the range that keeps logits finite, spread over it", async () => {
    const path = join(folder, "range.gguf");
    await writeModel({ params: "1m", type: "f16", seed: 1 }, path);
    const result = readGgufFile(path);
    if (!result.ok) throw new Error(result.reason);
    const output = result.directory.tensors.find((tensor) => tensor.name === "output.weight");
    const bytes = readFileSync(path)
      .subarray(output?.offset)
      .buffer.slice(output?.offset ?? 0);
    const weights = new Float16Array(bytes, 0, (output?.bytes ?? 0) / 2);
    const mean = weights.reduce((sum, weight) => sum + weight, 0) / weights.length;
    const variance = weights.reduce((sum, weight) => sum + weight * weight, 0) / weights.length;
    expect(Math.max(...weights)).toBeWithin(0.0295, 0.0301);
    expect(Math.min(...weights)).toBeWithin(-0.0301, -0.0295);
    // Uniform over +-0.03: mean 0 within five standard errors, variance 0.03^2 / 3.
    expect(Math.abs(mean)).toBeLessThan((5 * Math.sqrt(variance)) / Math.sqrt(weights.length));
    expect(variance / (0.03 ** 2 / 3)).toBeWithin(0.97, 1.03);
  });
});

describe("writing a model fails clearly and leaves nothing", () => {
  const spec = { params: "1m", type: "f16", seed: 1 } as const;

  test("when the file exists, unless forced", async () => {
    const path = join(folder, "exists.gguf");
    writeFileSync(path, "mine");
    expect((await failure(writeModel(spec, path))).code).toBe("usage");
    expect(readFileSync(path, "utf8")).toBe("mine");
    await writeModel(spec, path, { force: true });
    expect(readGgufFile(path).ok).toBe(true);
  });

  test("when the folder is missing", async () => {
    const error = await failure(writeModel(spec, join(folder, "missing", "m.gguf")));
    expect(error.code).toBe("environment");
    expect(error.hint).toContain("folder");
  });

  test("when it is stopped on the way", async () => {
    const controller = new AbortController();
    const path = join(folder, "stopped.gguf");
    const writing = writeModel({ ...spec, params: "15m" }, path, { signal: controller.signal });
    controller.abort(new MrmTraceError("interrupted", "stopped", ""));
    expect((await failure(writing)).code).toBe("interrupted");
    expect(existsSync(path)).toBe(false);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "when the disk is full, before and during the writing (mounting one needs root)",
    async () => {
      const disk = mkdtempSync(join(tmpdir(), "mrm-full-"));
      const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk]);
      expect(mounted.exitCode).toBe(0);
      try {
        const early = await failure(writeModel({ ...spec, params: "15m" }, join(disk, "m.gguf")));
        expect([early.code, early.message]).toEqual(["environment", expect.stringContaining("free")]);
        // The space is taken by another while we write.
        const writing = writeModel(spec, join(disk, "m.gguf"));
        writeFileSync(join(disk, "other"), new Uint8Array(512 * 1024));
        const late = await failure(writing);
        expect([late.code, late.message]).toEqual(["environment", expect.stringContaining("no space left")]);
        expect(readdirSync(disk)).toEqual(["other"]);
      } finally {
        Bun.spawnSync(["umount", disk]);
        rmSync(disk, { recursive: true });
      }
    },
  );

  test("never takes the place of a device, a pipe or a folder, also behind a link", async () => {
    const pipe = join(folder, "pipe");
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    const link = join(folder, "link-to-pipe");
    symlinkSync(pipe, link);
    const spec = { params: "1m", type: "q4_0", seed: 1 } as const;
    for (const path of [pipe, link, folder]) {
      const error = await failure(writeModel(spec, path, { force: true }));
      expect(error).toMatchObject({ code: "usage", message: `${path} is no regular file` });
    }
    expect(statSync(pipe).isFIFO()).toBe(true);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });
});
