import { describe, expect, test } from "bun:test";
import { type CellRange, cellsOfRuns, writtenCells } from "../../../../src/engine/llama-cpp/written-cells.ts";
import { graphBytes } from "../../../fixtures/ggml-structs.ts";

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer);

describe("the cells that a graph writes", () => {
  test("are the runs that were copied, with the tensor that they are of", () => {
    const payload = viewOf(
      graphBytes({
        tokens: 4,
        cache: 0x5000n,
        cells: [
          [7, 3],
          [512, 1],
        ],
      }),
    );
    expect(writtenCells(payload)).toEqual({
      addr: 0x5000n,
      ranges: [
        [7, 3],
        [512, 1],
      ],
      tokens: 4,
    });
  });

  test("are not known of a graph that writes no cache, or more than was copied", () => {
    expect(writtenCells(viewOf(graphBytes({ tokens: 4 })))).toBeNull();
    const more = graphBytes({ tokens: 4, cache: 0x5000n, cells: [[7, 3]] });
    expect(writtenCells(viewOf(more))).toBeNull();
    expect(writtenCells(viewOf(more.slice(0, 600)))).toBeNull();
  });
});

describe("the cells of a batch", () => {
  const run = (sequence: number, tokens: number) => ({ sequences: [sequence], position: 0, tokens });
  const shared = { cells: 64, streams: 1 };
  const split = { cells: 64, streams: 4 };

  test("are those of its tokens in their order where all sequences share them", () => {
    const written: CellRange[] = [
      [3, 2],
      [9, 1],
      [10, 1],
    ];
    expect(cellsOfRuns([run(2, 1), run(0, 3)], written, shared)).toEqual([
      [3, 2],
      [9, 2],
    ]);
  });

  test("are taken from the stream of each sequence where it has one, whatever the order of the graph", () => {
    const written: CellRange[] = [
      [0, 2],
      [130, 1],
      [64, 1],
      [131, 1],
    ];
    expect(cellsOfRuns([run(2, 1), run(1, 1), run(0, 2), run(2, 1)], written, split)).toEqual([
      [130, 1],
      [64, 1],
      [0, 2],
      [131, 1],
    ]);
  });

  test("are not believed where they are not those of the tokens", () => {
    expect(cellsOfRuns([run(0, 3)], [[0, 2]], shared)).toBeNull();
    expect(cellsOfRuns([run(0, 1)], [[0, 2]], shared)).toBeNull();
    expect(
      cellsOfRuns(
        [run(0, 2)],
        [
          [5, 1],
          [5, 1],
        ],
        shared,
      ),
    ).toBeNull();
    expect(cellsOfRuns([run(0, 1)], [[64, 1]], shared)).toBeNull();
    expect(cellsOfRuns([run(1, 1)], [[0, 1]], split)).toBeNull();
    expect(cellsOfRuns([{ sequences: [0, 1], position: 0, tokens: 1 }], [[0, 1]], split)).toBeNull();
  });
});
