import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { MrmTraceError } from "../../../src/errors.ts";
import {
  createRunDirectory,
  holdRun,
  modelId,
  modelSlug,
  newRunId,
  runPaths,
} from "../../../src/run-directory/run-directory.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-run-directory-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const make = (change: Partial<Parameters<typeof createRunDirectory>[0]> = {}) =>
  createRunDirectory({ output: join(root, "results"), model_id: "demo", run_id: newRunId(), force: false, ...change });
function failure(act: () => unknown): MrmTraceError {
  try {
    act();
  } catch (error) {
    if (error instanceof MrmTraceError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

describe("the run directory", () => {
  test("is made under output, model and run, for nobody else to read", () => {
    const run = make({ run_id: "one" });
    expect(run.path).toBe(join(root, "results", "demo", "one"));
    expect(existsSync(run.capture)).toBe(true);
    expect(statSync(run.path).mode & 0o777).toBe(0o700);
    expect(runPaths(run.path)).toEqual(run);
    expect(run).toMatchObject({ run_id: "one", model_id: "demo" });
  });

  test("that is there already is kept, unless --force is given, which replaces only a run", () => {
    const run = make({ run_id: "two" });
    writeFileSync(join(run.path, "kept"), "x");
    const error = failure(() => make({ run_id: "two" }));
    expect(error).toMatchObject({ code: "usage" });
    expect(error.hint).toContain("--force");
    expect(existsSync(join(run.path, "kept"))).toBe(true);
    make({ run_id: "two", force: true });
    expect(existsSync(join(run.path, "kept"))).toBe(false);
    mkdirSync(join(root, "results", "demo", "photos"));
    expect(failure(() => make({ run_id: "photos", force: true })).message).toContain("no run of ours");
  });

  test("that is held is not replaced, whatever is given", () => {
    const run = make({ run_id: "held" });
    using _held = holdRun(run.path);
    const error = failure(() => make({ run_id: "held", force: true }));
    expect(error).toMatchObject({ code: "usage" });
    expect(error.message).toContain(`at work in ${run.path}: process ${process.pid}`);
    expect(existsSync(run.capture)).toBe(true);
  });

  test("refuses ids that would lead out of the output folder, and makes nothing", () => {
    const hostile = ["..", ".", "", "../x", "a/b", "/etc", "a\0b", "-rf", "a b", "x".repeat(200), ".hidden", "a\n"];
    for (const id of hostile) {
      expect(failure(() => make({ run_id: id })).code).toBe("usage");
      expect(failure(() => make({ model_id: id })).code).toBe("usage");
    }
    expect(existsSync(join(root, "x"))).toBe(false);
  });

  test("does not follow a link in place of the model's folder", () => {
    mkdirSync(join(root, "elsewhere"));
    mkdirSync(join(root, "results"), { recursive: true });
    symlinkSync(join(root, "elsewhere"), join(root, "results", "linked"));
    expect(failure(() => make({ model_id: "linked" })).message).toContain("link");
  });

  test("that cannot be made is a fault of the environment with a hint, not a stack trace", () => {
    writeFileSync(join(root, "file"), "");
    const error = failure(() => make({ output: join(root, "file") }));
    expect(error.code).toBe("environment");
    expect(error.hint).toContain("--output");
    expect(failure(() => make({ output: "/proc/nowhere" })).code).toBe("environment");
  });
});

describe("names of runs", () => {
  test("a run id is the UTC time and four hex digits", () => {
    expect(newRunId(new Date("2026-11-21T10:15:00.123Z"))).toMatch(/^20261121T101500Z-[0-9a-f]{4}$/);
  });

  test("a model is named by its file, else by the command", () => {
    expect(modelId("Qwen2.5 0.5B (Instruct)", ["/usr/bin/llama-server"])).toBe("qwen2.5-0.5b-instruct");
    expect(modelId(null, ["/usr/bin/llama-server", "-m", "x"])).toBe("llama-server");
    expect(modelId("  ", [])).toBe("unknown");
  });

  test("every slug is a valid id", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => {
        expect(modelSlug(name)).toMatch(/^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/);
        expect(modelSlug(name).length).toBeLessThanOrEqual(80);
      }),
    );
  });
});
