import { afterAll, beforeAll, expect, test } from "bun:test";
import { namedWeights } from "../../../../src/engine/pytorch/named-weights.ts";
import { addressOf, isReadable, type WaitingPython, waitingPython } from "../../../fixtures/waiting-python.ts";

const PROGRAM = new URL("../../../fixtures/tied_modules.py", import.meta.url).pathname;
const S = 1_000_000_000n;

interface Said {
  readonly pid: number;
  readonly version: string;
  readonly data: readonly number[];
}

let program: WaitingPython<Said>;
beforeAll(async () => {
  program = await waitingPython(PROGRAM);
});
afterAll(() => program.end());

test("a table that is in the model twice is one parameter with all of its names, drawn from where one is of no table", () => {
  const { said } = program;
  if (!isReadable(said)) return;
  const [table = 0n, shared = 0n, matrix = 0n] = said.data.map(BigInt);
  const weights = namedWeights(said.pid, () => null, addressOf);
  weights.want(table, 0n);
  expect(
    weights.look(
      (address, length) => program.read(address, length),
      () => S,
      1,
    ),
  ).toMatchObject({ tensors: 3 });
  expect(weights.takeRows().tensors.map(({ kind, name, addr, size_bytes }) => [kind, name, addr, size_bytes])).toEqual([
    ["graph", "embed_tokens.weight", table, 512n],
    ["tied", "lm_head.weight", table, 512n],
    ["graph", "shared.weight", shared, 512n],
    ["tied", "embed_in.weight", shared, 512n],
    ["graph", "layers.0.weight", matrix, 256n],
  ]);
  expect(weights.live().map(({ name, drawn }) => [name, drawn])).toEqual([
    ["embed_tokens.weight", true],
    ["shared.weight", false],
    ["layers.0.weight", true],
  ]);
});
