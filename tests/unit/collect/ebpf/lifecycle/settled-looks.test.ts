import { describe, expect, test } from "bun:test";
import { settledLooks } from "../../../../../src/collect/ebpf/lifecycle/settled-looks.ts";

const S = 1_000_000_000n;
const all = () => true;

describe("a process whose map was in doubt", () => {
  test("is looked at once more when half a second has gone by, and not again", () => {
    const looks = settledLooks();
    looks.doubted(7, S);
    expect(looks.take(S + S / 4n, all)).toEqual([]);
    expect(looks.take(S + S / 2n, all)).toEqual([7]);
    expect(looks.take(9n * S, all)).toEqual([]);
  });

  test("is waited for as long as it comes into doubt again", () => {
    const looks = settledLooks();
    looks.doubted(7, S);
    looks.doubted(8, S);
    looks.doubted(7, 2n * S - S / 4n);
    expect(looks.take(2n * S, all)).toEqual([8]);
    expect(looks.take(3n * S, all)).toEqual([7]);
  });

  test("is forgotten once it has ended", () => {
    const looks = settledLooks();
    looks.doubted(7, S);
    looks.doubted(8, S);
    expect(looks.take(2n * S, (pid) => pid === 8)).toEqual([8]);
    expect(looks.take(2n * S, all)).toEqual([]);
  });
});
