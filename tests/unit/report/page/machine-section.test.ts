import { describe, expect, test } from "bun:test";
import { machineOfRun } from "../../../../src/report/page/machine-section.ts";
import { metadataWith } from "../../../fixtures/run-metadata.ts";
import { demoReport } from "../../../fixtures/run-report.ts";

describe("the command that repeats a run", () => {
  test("is the line that was typed, and behind it what that ran where the line does not say it", () => {
    const report = demoReport({ target: { ...demoReport().target, command: ["./infer", "a b"] } });
    const own = metadataWith({ repeated_by: ["mrm-trace", "run", "--seed", "7", "--", "./infer", "a b"] });
    const said = machineOfRun(report, own).markup;
    expect(said).toContain(">mrm-trace run --seed 7 -- ./infer &#39;a b&#39;<");
    expect(said).not.toContain("The process that was traced");
    const demo = machineOfRun(report, metadataWith({ repeated_by: ["mrm-trace", "run", "--seconds", "5"] })).markup;
    expect(demo).toContain(">mrm-trace run --seconds 5<");
    expect(demo).toMatch(/The process that was traced:<\/p><pre tabindex="0">.\/infer &#39;a b&#39;</);
  });

  test("is that of the file for a run of an experiment", () => {
    const experiment = {
      name: "two contexts",
      about: {},
      model: {},
      context_length: 512,
      batch_size: 1,
      output_tokens: 16,
      prompt_tokens: 8,
      prompts: 1,
      rep_index: 0,
      is_warmup: false,
    };
    const said = machineOfRun(demoReport(), metadataWith({ experiment })).markup;
    expect(said).toContain(">mrm-trace run --config FILE<");
    expect(said).toContain("the experiment two contexts");
  });

  test("is not there where another tool recorded, or nothing was kept of the command line", () => {
    const report = demoReport({ target: { ...demoReport().target, command: [] } });
    const imported = machineOfRun(report, metadataWith({ imported_from: "perf.data" })).markup;
    expect(imported).toContain("Recorded by another tool");
    const untold = machineOfRun(report, metadataWith({ repeated_by: [] })).markup;
    expect(untold).toContain("--record-command none");
    for (const markup of [imported, untold]) expect(markup).not.toContain("mrm-trace run");
  });
});

test("the settings of an engine are words, those of its context too", () => {
  const context = { n_ctx: 512, type_k: "f16", flash_attention: true };
  const metadata = { ...metadataWith(), engines: [{ name: "llama.cpp", build: "ggml 1", context, layers: [1, 2] }] };
  expect(machineOfRun(demoReport(), metadata as never).markup).toContain(
    "<dd>llama.cpp, build ggml 1, context (n_ctx 512, type_k f16, flash_attention yes), layers [1,2]</dd>",
  );
});
