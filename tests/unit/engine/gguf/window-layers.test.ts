import { describe, expect, test } from "bun:test";
import { mayHaveWindows, windowLayers } from "../../../../src/engine/gguf/window-layers.ts";

const layersOf = (architecture: string, layers: number, window?: number | null, period?: number | null) => {
  const found = windowLayers(architecture, { layers, window, period });
  return found && [found.window_tokens, found.window_layers.join()];
};

describe("layers that look back over a window", () => {
  test("are those of the period of their architecture", () => {
    expect(layersOf("gemma2", 5)).toEqual([4096, "0,2,4"]);
    expect(layersOf("gpt-oss", 4, 128)).toEqual([128, "0,2"]);
    expect(layersOf("gemma3", 8, 512)).toEqual([512, "0,1,2,3,4,6,7"]);
    expect(layersOf("smallthinker", 6, 4096)).toEqual([4096, "1,2,3,5"]);
    expect(layersOf("exaone4", 64)?.[0]).toBe(4096);
  });

  test("are those of the period that the header has", () => {
    expect(layersOf("cohere2", 4, 64, 2)).toEqual([64, "0,2"]);
  });

  test.each([
    ["another architecture, whose windows may be blocks of tokens", "llama4", 48, 8192, undefined],
    ["no window in the header of one that may have none", "gemma3", 8, undefined, undefined],
    ["a window of 0", "olmo2", 8, 0, undefined],
    ["a window for each layer", "gemma2", 8, null, undefined],
    ["a list of layers", "gemma3", 8, 512, null],
    ["a period without a layer that has a window", "gemma3", 8, 512, 1],
    ["a window that the engine would not take from the header", "smallthinker", 8, 64, undefined],
    ["a smaller model that has no window", "exaone4", 30, 4096, undefined],
    ["more layers than there are", "gemma3", 2 ** 31, 512, undefined],
  ] as const)("are not certain with %s", (_, architecture, layers, window, period) => {
    expect(layersOf(architecture, layers, window, period)).toBeNull();
  });
});

describe("layers of which no more is known than that they may look back over a window", () => {
  const may = (architecture: string | null, window?: number | null, period?: number | null, layers = 48) =>
    mayHaveWindows(architecture, { layers, window, period });

  test.each([
    ["a header says how long it is, whatever the architecture", "gemma3n", 512, undefined],
    ["it lists them", "gemma4", 512, null],
    ["it has a window for each layer", "mimo2", null, undefined],
    ["the architecture has windows of its own", "llama4", undefined, undefined],
  ] as const)("are there where %s", (_, architecture, window, period) => {
    expect(may(architecture, window, period)).toBe(true);
  });

  test.each([
    ["no header says so", "llama", undefined, undefined],
    ["the window is none", "llama4", 0, undefined],
    ["every layer looks back over all", "gemma3", 512, 1],
    ["the engine passes it over", "phi3", 2047, undefined],
    ["the engine passes it over in models of so many layers", "exaone4", 4096, undefined],
  ] as const)("are not where %s", (_, architecture, window, period) => {
    expect(may(architecture, window, period)).toBe(false);
  });
});
