import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { modelId, modelSlug, newRunId } from "../../../src/run-directory/run-directory.ts";

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
