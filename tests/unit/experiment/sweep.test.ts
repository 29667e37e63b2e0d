import { describe, expect, test } from "bun:test";
import { readConfigFile } from "../../../src/config/config-file.ts";
import { promptsSchema, sweepSchema } from "../../../src/config/experiment-schema.ts";
import { demoSchema, runSchema } from "../../../src/config/schema.ts";
import { requestOf, runRequestSchema } from "../../../src/experiment/run-request.ts";
import { countRuns, type Experiment, plannedRuns } from "../../../src/experiment/sweep.ts";

function experiment(given: Partial<Experiment> = {}, sweep: Record<string, unknown> = {}): Experiment {
  return {
    file: "x.yaml",
    about: { name: "x", version: "1.0.0" },
    models: [
      { id: "A", engine: "demo", params: "1m" },
      { id: "b", engine: "demo", params: "1m" },
    ],
    sweep: sweepSchema.parse({ context_lengths: [64, 128], batch_sizes: [1, 2], output_tokens: [8], ...sweep }),
    prompts: promptsSchema.parse({}),
    run: runSchema.parse({}),
    demo: demoSchema.parse({}),
    ...given,
  };
}

const idsOf = (given: Experiment): string[] => [...plannedRuns(given)].map(({ run_id }) => run_id);

describe("the runs of a sweep", () => {
  test("have ids of their own, warm-ups too", () => {
    const given = experiment({}, { repetitions: 2, warmup_runs: 2 });
    const ids = idsOf(given);
    expect(ids).toHaveLength(32);
    expect(new Set(ids).size).toBe(32);
    expect(countRuns(2, given.sweep)).toEqual({ total: 32, warmups: 16 });
  });

  test("come by model, context, batch and output, the warm-ups of a cell first", () => {
    const runs = [...plannedRuns(experiment({}, { repetitions: 2, warmup_runs: 1 }))];
    const place = ({ model_id, context_length, batch_size, is_warmup, rep_index }: (typeof runs)[number]): string =>
      `${model_id} ${context_length} ${batch_size} ${is_warmup ? "w" : "r"}${rep_index}`;
    expect(runs.slice(0, 7).map(place)).toEqual([
      "a 64 1 w0",
      "a 64 1 r0",
      "a 64 1 r1",
      "a 64 2 w0",
      "a 64 2 r0",
      "a 64 2 r1",
      "a 128 1 w0",
    ]);
    expect(runs[12] && place(runs[12])).toBe("b 64 1 w0");
    expect(runs[0]?.run_id).toMatch(/^a_ctx64_batch1_out8_warmup0_[0-9a-f]{8}$/);
  });

  test("have the same ids again, and others with other settings", () => {
    const ids = idsOf(experiment());
    expect(idsOf(experiment())).toEqual(ids);
    expect(idsOf(experiment({ run: runSchema.parse({ output: "elsewhere", quiet: true }) }))).toEqual(ids);
    for (const other of [
      experiment({ run: runSchema.parse({ budget: 2 }) }),
      experiment({ demo: demoSchema.parse({ threads: 7 }) }),
      experiment({ prompts: promptsSchema.parse({ tokens: 5 }) }),
      experiment({ about: { name: "y", version: "1.0.0" } }),
    ]) {
      expect(idsOf(other).filter((id) => ids.includes(id))).toEqual([]);
    }
  });

  test("have names that a run directory takes, however long the model's is", () => {
    const long = experiment({ models: [{ id: `${"x".repeat(150)}/Y Z`, engine: "demo" }] }, { context_lengths: [1e6] });
    for (const { run_id, model_id } of plannedRuns(long)) {
      expect(run_id).toMatch(/^[a-z0-9][A-Za-z0-9._-]{0,79}$/);
      expect(model_id).toMatch(/^[a-z0-9][a-z0-9._-]{0,79}$/);
    }
  });

  test("fill the context with prompt and output unless the prompt's length is given", () => {
    const [first] = plannedRuns(experiment());
    expect(first).toMatchObject({ prompt_tokens: 56, prompts: 1 });
    const [given] = plannedRuns(experiment({ prompts: promptsSchema.parse({ tokens: 5, count: 9 }) }));
    expect(given).toMatchObject({ prompt_tokens: 5, prompts: 9 });
  });

  test("are told to their process in a form that comes through a pipe", () => {
    const given = experiment();
    for (const planned of plannedRuns(given)) {
      const request = requestOf(given, planned, false);
      expect(runRequestSchema.parse(JSON.parse(JSON.stringify(request)))).toEqual(request);
      expect(request.demo.sequences).toBe(planned.batch_size);
    }
  });
});

test("the example file of the repository is valid", () => {
  expect(readConfigFile("config/demo.yaml").problems).toEqual([]);
});
