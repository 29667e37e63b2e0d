import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { type EngineRun, runEngine } from "../../fixtures/engine-run.ts";
import { compileDebugged, toolOutput } from "../../fixtures/with-debug-data.ts";

setDefaultTimeout(120_000);

const moved = compileDebugged("debugged-engine", "cc", "-g", "-DMOVED");
const stripped = `${moved}-stripped`;
copyFileSync(moved, stripped);
toolOutput("strip", "--strip-debug", stripped);

const run = (program: string): Promise<EngineRun> => runEngine([program], { objects: [program] });
const detailsOf = ({ steps }: EngineRun, kind: string) =>
  steps.filter((step) => step.kind === kind).map(({ detail }) => JSON.parse(detail ?? "{}"));

describe("an engine whose structures no known build has", () => {
  test("is read by its debugging data: weights, cache, parameters, tokens and the cells that they are written to", async () => {
    const ran = await run(moved);
    expect(ran.exitCode).toBe(0);
    const places = JSON.parse(ran.stdout);
    const tensors = ran.tensors.filter(({ kind }) => kind === "tensor");
    expect(tensors.map(({ name, addr, size_bytes, region_type }) => [name, addr, size_bytes, region_type])).toEqual([
      ["blk.0.attn_k.weight", BigInt(places.weights), 512n, "weight"],
      ["cache_k_l0", BigInt(places.cache), 3072n, "kv_cache"],
    ]);
    expect(detailsOf(ran, "engine")[0]).toMatchObject({ layout_evidence: "dwarf", debug_file: null });
    const asked = { n_ctx: 96, n_batch: 8, n_seq_max: 2, n_threads: 3, flash_attention: "on" };
    expect(detailsOf(ran, "context")).toMatchObject([{ ...asked, type_k: "f16", type_v: "f32" }]);
    const decoded = ran.steps.filter(({ kind }) => kind === "decode");
    expect(decoded.map(({ n_tokens, position_first }) => [n_tokens, position_first])).toEqual([
      [3, 0],
      [1, 3],
    ]);
    expect(detailsOf(ran, "decode").map(({ kv_row_cells }) => kv_row_cells)).toEqual([[[0, 3]], [[3, 1]]]);
    expect(ran.untold).toEqual([]);
  });

  test("is refused in one line without them", async () => {
    const ran = await run(stripped);
    expect(ran.exitCode).toBe(0);
    expect(ran.tensors.filter(({ name }) => name !== null)).toEqual([]);
    expect(ran.untold).toEqual([
      "llama.cpp: no tensor is known: none of 2 that were placed is what the offsets of ggml-0.25 make of it, tried on this build, which is not known",
    ]);
  });
});
