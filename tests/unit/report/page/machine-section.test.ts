import { describe, expect, test } from "bun:test";
import { machineOfRun, shellWords } from "../../../../src/report/page/machine-section.ts";
import { metadataWith } from "../../../fixtures/run-metadata.ts";
import { demoReport } from "../../../fixtures/run-report.ts";

describe("the command that repeats a run", () => {
  test("is what a shell takes for the same words", () => {
    const words = ["./infer", "-m", "a model.gguf", "it's", "$HOME", "*", "", "--n=3"];
    const said = Bun.spawnSync(["sh", "-c", `printf '%s\\n' ${shellWords(words)}`]).stdout.toString();
    expect(said.split("\n").slice(0, -1)).toEqual(words);
  });

  test("has the seed of the run, and is not there where another tool recorded", () => {
    const report = demoReport({ target: { ...demoReport().target, command: ["./infer", "a b"] } });
    expect(machineOfRun(report, metadataWith()).markup).toContain("mrm-trace run --seed 7 -- ./infer &#39;a b&#39;");
    const imported = metadataWith({ imported_from: "perf.data" });
    expect(machineOfRun(report, imported).markup).not.toContain("mrm-trace run");
  });
});

test("the settings of an engine are words, those of its context too", () => {
  const context = { n_ctx: 512, type_k: "f16", flash_attention: true };
  const metadata = { ...metadataWith(), engines: [{ name: "llama.cpp", build: "ggml 1", context, layers: [1, 2] }] };
  expect(machineOfRun(demoReport(), metadata as never).markup).toContain(
    "<dd>llama.cpp, build ggml 1, context (n_ctx 512, type_k f16, flash_attention yes), layers [1,2]</dd>",
  );
});
