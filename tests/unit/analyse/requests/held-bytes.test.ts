import { expect, test } from "bun:test";
import { heldBytes } from "../../../../src/analyse/requests/held-bytes.ts";
import { kvRowsOf } from "../../../fixtures/kv-rows.ts";

test("a sequence holds what it wrote and did not give up, whatever the others do, and nothing is told where rows are missing", () => {
  const row = (pid: number, sequence: number | null, write_ns: number, evict_ns: number | null = null) => ({
    ...{ pid, sequence, write_ns, evict_ns },
  });
  // Of process 9 each token has a row in two tensors, but for the last, whose second tensor was not known yet.
  const given = [
    row(7, 0, 10),
    row(7, 0, 20, 30),
    row(7, 0, 40),
    row(7, 1, 15),
    row(9, 0, 5),
    row(9, 0, 6),
    row(7, null, 5),
  ];
  const one = kvRowsOf(given, [64, 64]);
  const rows = { ...one, rooms: [[0], [0, 1]], roomOf: [0, 0, 0, 0, 1, 0, 0] };
  const at = (id: number, time_ns: number, tokens: number, sequence = 0, pid = 7) => ({
    ...{ id, pid, sequence, time_ns, tokens },
  });
  const held = heldBytes(rows, [
    at(1, 9, 0),
    at(2, 10, 1),
    at(3, 25, 2),
    at(4, 30, 1),
    at(5, 99, 2),
    at(6, 99, 1, 1),
    at(7, 99, 1, 2),
    at(8, 5, 1, 0, 9),
    at(9, 99, 2, 0, 9),
    at(10, 99, 3),
  ]);
  // What is written or given up in the very moment is so by then; of the first and the seventh there is no row, of the
  // last two there are fewer than they have tokens.
  expect([...held].toSorted(([a], [b]) => a - b)).toEqual([
    [2, 64n],
    [3, 128n],
    [4, 64n],
    [5, 128n],
    [6, 64n],
    [8, 128n],
  ]);
  expect(heldBytes(rows, []).size).toBe(0);
});
