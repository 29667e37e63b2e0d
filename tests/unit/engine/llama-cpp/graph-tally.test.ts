import { describe, expect, test } from "bun:test";
import type { GraphReading } from "../../../../src/engine/llama-cpp/graph-reader.ts";
import { graphTally } from "../../../../src/engine/llama-cpp/graph-tally.ts";

const reading = (tensors: number, refused: Record<string, number> = {}) => ({
  tensors: new Array(tensors) as GraphReading["tensors"],
  refused,
});
const changed = { changed_while_read: 20 };

describe("tensors that a graph could not tell", () => {
  test("are none once the graph was read again to the end", () => {
    const tally = graphTally();
    tally.note("1/0", "a", reading(80, changed), 80);
    expect(tally.counts()).toEqual({ found: 80, known: 0, refused: changed });
    tally.note("1/0", "a", reading(100), 20);
    expect(tally.counts()).toEqual({ found: 100, known: 0, refused: {} });
  });

  test("are missing where other tensors of the process were found by graphs alone", () => {
    const tally = graphTally();
    tally.note("1/0", "a", reading(80, changed), 1);
    expect(tally.counts()).toEqual({ found: 1, known: 79, refused: changed });
  });

  test("are known where the probes had told of every tensor of the process", () => {
    const tally = graphTally();
    tally.note("1/0", "a", reading(80, changed), 0);
    tally.note("2/0", "a", reading(5, { tensor_unreadable: 1 }), 5);
    expect(tally.counts()).toEqual({ found: 5, known: 100, refused: { tensor_unreadable: 1 } });
  });

  test("stay counted, however many graphs there are", () => {
    const tally = graphTally();
    for (let graph = 0; graph < 5000; graph++) tally.note("1/0", `${graph}`, reading(1, { tensor_unreadable: 1 }), 1);
    expect(tally.counts()).toEqual({ found: 5000, known: 0, refused: { tensor_unreadable: 5000 } });
  });
});
