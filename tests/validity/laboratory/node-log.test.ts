import { expect, test } from "bun:test";
import { OP } from "../../../src/schema/operation.ts";
import { nodeLogOf, nodeStrata, nodeWorld, truthsOfNodes } from "./node-log.ts";

const MS = 1e6;
const [READ, WRITTEN, WEIGHT, ACTIVATION] = [1, 2, 0, 8];

/** Two steps of two nodes: the first writes 16 bytes by 32 of weights, the second reads 8 of these and writes 8 more. */
function log(): Uint8Array {
  const shapes = [
    [9, 1, 0, 4096, 32, WEIGHT + READ, 8192, 16, ACTIVATION + WRITTEN],
    [9, 1, 1, 8200, 8, ACTIVATION + READ, 8208, 8, ACTIVATION + WRITTEN],
  ];
  const steps = [0, 10].map((from) => [
    [5, 2, (100 + from) * MS, (101 + from) * MS, 0],
    [5, 2, (103 + from) * MS, (104 + from) * MS, 1],
    [5, 3, (100 + from) * MS, (105 + from) * MS, 1],
  ]);
  const words = [...shapes.flat(), ...steps.flat(2), 0, 0, 0];
  return new Uint8Array(BigUint64Array.from(words, BigInt).buffer);
}

test("nodes tell which words are touched alike, and when", () => {
  const strata = nodeStrata(nodeLogOf(log()), "activation", 100 * MS, [0, 1]);
  const told = strata.map(({ repeats, words: [word] }) => [repeats, [...(word?.time_ns ?? [])], [...(word?.op ?? [])]]);
  expect(told).toEqual([
    [1, [1 * MS, 11 * MS], [OP.store, OP.store]],
    [1, [1 * MS, 3 * MS, 11 * MS, 13 * MS], [OP.store, OP.load, OP.store, OP.load]],
    [1, [4 * MS, 14 * MS], [OP.store, OP.store]],
  ]);
});

test("what is true of nodes leaves open when in a node each word is touched", () => {
  const { generation, decode } = truthsOfNodes(nodeLogOf(log()), "activation", 1, 50_000);
  // Of 4 writes in 15 ms one is read, from 2 to 4 ms after its write.
  expect(generation.get("read_bytes_per_s")?.lo).toBeCloseTo(16 / 0.015, 6);
  expect(generation.get("write_bytes_per_s")?.lo).toBeCloseTo(48 / 0.015, 6);
  expect(generation.get("age_at_read_p50_ns")).toEqual({ lo: 2 * MS, hi: 4 * MS });
  expect(generation.has("hits_per_pass")).toBe(false);
  const weights = truthsOfNodes(nodeLogOf(log()), "weight", 1, 50_000);
  expect(weights.decode.get("reads_per_byte_per_token")).toEqual({ lo: 1, hi: 1 });
  expect(decode.get("writes_per_byte_per_token")).toEqual({ lo: 1, hi: 1 });
});

test("nodes make a world of their run, in which words are touched in the middle of a node", () => {
  const { run_ns, steps, strata } = nodeWorld(nodeLogOf(log()), 1);
  expect([run_ns, steps.map(({ step }) => step)]).toEqual([15 * MS, ["decode", "decode"]]);
  expect(strata.map(({ stratum, repeats, words: [word] }) => [stratum, repeats, word?.time_ns[0]])).toEqual([
    ["weight", 4, 0.5 * MS],
    ["activation", 1, 0.5 * MS],
    ["activation", 1, 0.5 * MS],
    ["activation", 1, 3.5 * MS],
  ]);
});
