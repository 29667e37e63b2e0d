import { expect, test } from "bun:test";
import {
  cutBatches,
  isBatch,
  isPrefill,
  isTurn,
  isWork,
  partialEngines,
  type StepRow,
  stepRows,
  tellsSteps,
  withoutCut,
} from "../../../../src/label/timeline/step-row.ts";
import { rowWith } from "../../../fixtures/row-with.ts";

const recognised = (detail: string | null): StepRow => ({
  pid: 1,
  engine: "engine",
  kind: "engine",
  begin_ns: 0,
  end_ns: 1,
  n_tokens: null,
  n_sequences: null,
  position_first: null,
  sequence_id: null,
  result: null,
  detail,
});

test("an engine that says so tells no steps, and every other does", () => {
  expect(tellsSteps(recognised('{"path":"/m.safetensors","tells_steps":false}'))).toBe(false);
  expect(tellsSteps(recognised('{"path":"/libllama.so"}'))).toBe(true);
  expect(tellsSteps(recognised(null))).toBe(true);
  expect(tellsSteps({ ...recognised('{"tells_steps":false}'), kind: "decode" })).toBe(true);
});

test("an engine that says so does not tell of all its tensors", () => {
  const torch = { ...recognised('{"path":"/libtorch_cpu.so","tells_tensors":false}'), engine: "PyTorch" };
  const other = { ...recognised('{"path":"/libllama.so"}'), engine: "llama.cpp" };
  const decode = { ...other, kind: "decode", detail: null } as const;
  expect(partialEngines([torch, other, { ...torch, kind: "decode", detail: null }, decode])).toEqual(
    new Set(["PyTorch"]),
  );
});

test("a load that placed no tensor is no work, whatever ends it; a load that did, a context and a batch are", () => {
  const step = (kind: StepRow["kind"], detail: string | null = null): StepRow => ({ ...recognised(detail), kind });
  const simulated = step("model_load", '{"weight_tensors":0,"simulated":true}');
  const idle = [step("engine"), step("probes"), simulated, step("model_free")];
  expect(idle.map(isWork)).toEqual(idle.map(() => false));
  const work = [step("model_load", '{"weight_tensors":57}'), step("context"), step("graph"), step("decode")];
  expect(work.map(isWork)).toEqual(work.map(() => true));
});

test("a batch of guesses behind tokens that were sampled is none of a prompt, unless it has one beside", () => {
  const batch = (n_tokens: number, n_sequences: number, detail: object): StepRow => ({
    ...recognised(JSON.stringify(detail)),
    ...{ kind: "decode", n_tokens, n_sequences },
  });
  expect(isPrefill(batch(5, 1, {}))).toBe(true);
  expect(isPrefill(batch(5, 1, { drafts: [[0, 4]] }))).toBe(false);
  expect(
    isPrefill(
      batch(9, 3, {
        drafts: [
          [0, 4],
          [7, 2],
        ],
      }),
    ),
  ).toBe(false);
  expect(isPrefill(batch(9, 2, { drafts: [[0, 4]] }))).toBe(true);
  expect(isPrefill(batch(6, 2, { drafts: [[0, 4]], prompt_sequences: [1] }))).toBe(true);
  // More guesses than tokens: a trace that says so is not believed.
  expect(isPrefill(batch(5, 1, { drafts: [[0, 90]] }))).toBe(true);
});

test("a batch of the context that a draft says it was guessed by is a guess, in its own process", () => {
  const batch = (pid: number, timestamp_ns: bigint, detail: object) =>
    rowWith("step", {
      pid,
      kind: "decode",
      n_tokens: 1,
      timestamp_ns,
      end_ns: timestamp_ns,
      detail: JSON.stringify(detail),
    });
  const steps = stepRows(
    [
      batch(1, 1n, { context: "0x2" }),
      batch(1, 2n, { context: "0x1", drafts: [[0, 4]], drafted_by: "0x2" }),
      batch(1, 3n, { context: "0x2" }),
      batch(2, 4n, { context: "0x2" }),
    ],
    0n,
  );
  expect(steps.map(({ is_guess }) => is_guess === true)).toEqual([true, false, true, false]);
  expect(steps.map(isTurn)).toEqual([false, true, false, true]);
  expect(steps.every(isBatch)).toBe(true);
});

test("the last batch of each context is cut where it has not returned, and no other is", () => {
  const batch = (begin_ns: number, end_ns: number, context: string): StepRow => ({
    ...{ pid: 1, engine: "llama.cpp", kind: "decode", begin_ns, end_ns, n_tokens: 2, n_sequences: 1 },
    ...{ position_first: 0, sequence_id: 0, result: null, detail: JSON.stringify({ context }) },
  });
  const never = Number.POSITIVE_INFINITY;
  const [lost, cut, whole] = [batch(100, never, "0x1"), batch(200, never, "0x1"), batch(250, 260, "0x2")];
  expect([...cutBatches([lost, cut, whole])]).toEqual([cut]);
  expect(cutBatches([lost, batch(200, 210, "0x1"), whole]).size).toBe(0);
  expect(cutBatches([{ ...cut, kind: "graph" }]).size).toBe(0);
});

test("a batch that was cut is left out with what it gave to other sequences, and those of other processes stay", () => {
  const row = (kind: string, pid: number, end_ns = Number.POSITIVE_INFINITY): StepRow => ({
    ...{ pid, engine: "vLLM", kind, begin_ns: 100, end_ns, n_tokens: kind === "decode" ? 2 : null, n_sequences: 2 },
    ...{ position_first: null, sequence_id: 1, result: null, detail: null },
  });
  const [cut, given, whole, other] = [row("decode", 1), row("kv_copy", 1), row("decode", 2, 110), row("kv_copy", 2)];
  expect(withoutCut([cut, given, whole, other])).toEqual([whole, other]);
  expect(withoutCut([given, cut])).toEqual([given]);
});
