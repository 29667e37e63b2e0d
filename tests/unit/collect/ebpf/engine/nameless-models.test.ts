import { describe, expect, test } from "bun:test";
import { namelessModels } from "../../../../../src/collect/ebpf/engine/nameless-models.ts";
import { mappingRow } from "../../../../fixtures/mapping-rows.ts";

const MODEL = "/models/a.gguf";

/** What is said where these rows were seen of a process. */
function said(isKnown: boolean, ...rows: readonly (readonly ["snapshot" | "file" | "gguf" | "exit", string | null])[]) {
  const models = namelessModels(() => isKnown);
  models.follow(rows.map(([kind, path], i) => mappingRow(kind, i, { path })));
  return models.warnings();
}

describe("a model that a process maps", () => {
  test("is told in one line where no engine is found in it, whenever it was mapped, and after its end", () => {
    for (const kind of ["snapshot", "file"] as const) {
      const [line, ...more] = said(false, [kind, MODEL], [kind, MODEL]);
      expect(more).toEqual([]);
      expect(line).toStartWith("a.gguf is mapped by a process in which no engine is found");
      expect(said(false, [kind, MODEL], ["exit", null])).toEqual([line ?? ""]);
    }
    expect(said(false, ["file", `${MODEL} (deleted)`])).toHaveLength(1);
  });

  test("is told where its name does not say what it is but its first bytes do, also where that was found out behind the end", () => {
    const stored = "/models/sha256-0f";
    const [line, ...more] = said(false, ["file", stored], ["gguf", stored]);
    expect([line, more]).toEqual([expect.stringMatching(/^sha256-0f is mapped by a process in which no/), []]);
    expect(said(false, ["file", stored], ["exit", null], ["gguf", stored])).toEqual([line ?? ""]);
    expect(said(false, ["file", stored])).toEqual([]);
    expect(said(true, ["file", stored], ["gguf", stored], ["exit", null])).toEqual([]);
  });

  test("is not told of a process that had ended before its file was looked at", () => {
    const models = namelessModels(() => false);
    const rows = (["file", "exit", "gguf"] as const).map((kind, i) =>
      mappingRow(kind, i, { path: "/models/sha256-0f" }),
    );
    for (const row of rows) models.follow([row]);
    expect(models.warnings()).toEqual([]);
  });

  test("is not where one is, nor is a file of another kind", () => {
    expect(said(true, ["file", MODEL])).toEqual([]);
    expect(said(true, ["file", MODEL], ["exit", null])).toEqual([]);
    expect(said(false, ["file", "/models/a.safetensors"], ["file", null])).toEqual([]);
  });
});
