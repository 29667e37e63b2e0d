import { describe, expect, test } from "bun:test";
import { namelessModels } from "../../../../../src/collect/ebpf/engine/nameless-models.ts";
import { mappingRow } from "../../../../fixtures/mapping-rows.ts";

const MODEL = "/models/a.gguf";

/** What is said where these rows were seen of a process. */
function said(isKnown: boolean, ...rows: readonly (readonly ["snapshot" | "file" | "exit", string | null])[]) {
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

  test("is not where one is, nor is a file of another kind", () => {
    expect(said(true, ["file", MODEL])).toEqual([]);
    expect(said(true, ["file", MODEL], ["exit", null])).toEqual([]);
    expect(said(false, ["file", "/models/a.safetensors"], ["file", null])).toEqual([]);
  });
});
