import { expect, setDefaultTimeout, test } from "bun:test";
import { runEngine } from "../../fixtures/engine-run.ts";
import { compileDebugged } from "../../fixtures/with-debug-data.ts";

setDefaultTimeout(120_000);

test("arrays of a batch that are null are what llama.cpp puts in their place", async () => {
  const program = compileDebugged("null-batches", "cc");
  const { steps, exitCode } = await runEngine([program], { objects: [program] });
  expect(exitCode).toBe(0);
  const decoded = steps.filter(({ kind }) => kind === "decode");
  expect(decoded.map((step) => [step.n_tokens, step.sequence_id, step.position_first])).toEqual([
    [3, 0, 0],
    [4, 5, 0],
    [2, 0, 3],
    [2, 5, 4],
  ]);
});
