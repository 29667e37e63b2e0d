import { describe, expect, test } from "bun:test";
import { graphTally } from "../../../../src/engine/probing/graph-tally.ts";

const look = (
  graph: string,
  found: number,
  tensors: number,
  refused: Record<string, number> = {},
  unread_nodes = 0,
) => ({
  graph,
  found,
  tensors,
  refused,
  nodes: 40,
  unread_nodes,
});
const changed = { changed_while_read: 20 };

describe("tensors that a graph could not tell", () => {
  test("are none once the graph was read again to the end", () => {
    const tally = graphTally();
    tally.note("1/0", look("a", 80, 80, changed));
    expect(tally.counts()).toEqual({ found: 80, known: 0, refused: changed });
    tally.note("1/0", look("a", 20, 100));
    expect(tally.counts()).toEqual({ found: 100, known: 0, refused: {} });
  });

  test("are missing where other tensors of the process were found by graphs alone", () => {
    const tally = graphTally();
    tally.note("1/0", look("a", 1, 80, changed));
    expect(tally.counts()).toEqual({ found: 1, known: 79, refused: changed });
  });

  test("are known where the probes had told of every tensor of the process", () => {
    const tally = graphTally();
    tally.note("1/0", look("a", 0, 80, changed));
    tally.note("2/0", look("a", 5, 5, { tensor_unreadable: 1 }));
    expect(tally.counts()).toEqual({ found: 5, known: 100, refused: { tensor_unreadable: 1 } });
  });

  test("are as many in graphs that nobody has read as in those of the process that were, where graphs alone told any", () => {
    const tally = graphTally();
    tally.note("1/0", look("a", 20, 20, {}, 120));
    tally.note("2/0", look("a", 0, 20, {}, 120));
    expect(tally.counts()).toEqual({ found: 20, known: 20, refused: { graph_unread: 60 } });
    tally.note("1/0", look("b", 10, 20, {}, 8));
    expect(tally.counts().refused).toEqual({ graph_unread: 3 });
    tally.note("1/0", look("c", 10, 20));
    expect(tally.counts().refused).toEqual({});
  });

  test("stay counted, however many graphs there are", () => {
    const tally = graphTally();
    for (let graph = 0; graph < 5000; graph++) tally.note("1/0", look(`${graph}`, 1, 1, { tensor_unreadable: 1 }));
    expect(tally.counts()).toEqual({ found: 5000, known: 0, refused: { tensor_unreadable: 5000 } });
  });
});
