import { describe, expect, test } from "bun:test";
import { reuseBands, type Turn } from "../../../../../../src/collect/ebpf/watch/frame/reuse-bands.ts";

const tensor = (name: string, from: number, end: number): Turn => ({ name, from: BigInt(from), to: BigInt(end) });
const many = (count: number, from: number, end: number): Turn[] =>
  Array.from({ length: count }, (_, i) => tensor(`t${i}-${from}`, from, end));
const bands = (tensors: readonly Turn[]): string[] =>
  reuseBands(tensors).map(({ from, to: end, stratum, turns }) => `${from}-${end} ${stratum} ${turns}`);

describe("memory in which tensors take turns", () => {
  test("is in bands of which each has about as many turns, summed over its bytes", () => {
    expect(bands([...many(1, 0, 4000), ...many(10, 4000, 4400), ...many(100, 4400, 4440)])).toEqual([
      "0-4000 activation 0.5",
      "4000-4400 activation/reused 0.25",
      "4400-4440 activation/most_reused 0.25",
    ]);
  });

  test("counts of a name and place the smallest tensor, and all of the memory of the others", () => {
    const prompt = many(100, 4400, 9000);
    const step = many(100, 4400, 4440);
    const others = [...many(1, 0, 4000), ...many(10, 4000, 4400)];
    const expected = [
      "0-4000 activation 0.5",
      "4000-4400 activation/reused 0.25",
      "4400-4440 activation/most_reused 0.25",
      "4440-9000 activation 0.5",
    ];
    expect(bands([...others, ...prompt, ...step])).toEqual(expected);
    expect(bands([...step, ...prompt, ...others])).toEqual(expected);
  });

  test("is in two bands where most of the turns are of two kinds of bytes, each with half of the turns", () => {
    expect(bands([...many(1, 0, 4000), ...many(100, 4000, 4050)])).toEqual([
      "0-4000 activation 0.5",
      "4000-4050 activation/most_reused 0.5",
    ]);
  });

  test("is one stratum with the turns of its class where its bytes have about as many", () => {
    expect(bands([...many(1, 0, 4000), ...many(2, 2000, 3000), ...many(1, 5000, 5100)])).toEqual([
      "0-4000 activation 1",
      "5000-5100 activation 1",
    ]);
  });

  test("is none where no tensor has bytes", () => {
    expect(reuseBands([])).toEqual([]);
    expect(reuseBands([tensor("a", 8, 8)])).toEqual([]);
  });
});
