import { expect, test } from "bun:test";
import { coveredEngines } from "../../../../src/engine/probing/covered-engines.ts";

test("an engine is covered in the processes in which another one is built on it, and in no other", () => {
  const covered = coveredEngines();
  covered.cover(1, ["PyTorch"]);
  covered.cover(2, []);
  expect([covered.has(1, "PyTorch"), covered.has(1, "vLLM"), covered.has(2, "PyTorch")]).toEqual([true, false, false]);
});

test("what a process told before its end stays covered until it was read", () => {
  const covered = coveredEngines();
  covered.cover(1, ["PyTorch"]);
  covered.forget(1);
  expect([covered.isLeaving(1), covered.has(1, "PyTorch")]).toEqual([true, true]);
  covered.letGo();
  expect([covered.isLeaving(1), covered.has(1, "PyTorch")]).toEqual([false, false]);
});
