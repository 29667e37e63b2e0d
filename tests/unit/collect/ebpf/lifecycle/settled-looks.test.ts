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

  test("waits twice as long each time where calls disturb every look, and half a second again when it was still", () => {
    const looks = settledLooks();
    const waited: number[] = [];
    let now_ns = S;
    for (let i = 0; i < 9; i++) {
      looks.disturbed(7, now_ns);
      const begin_ns = now_ns;
      while (looks.take(now_ns, all).length === 0) now_ns += S / 4n;
      waited.push(Number(now_ns - begin_ns) / 1e9);
    }
    expect(waited).toEqual([0.5, 1, 2, 4, 8, 16, 32, 64, 64]);
    now_ns += 300n * S;
    expect(looks.take(now_ns, all)).toEqual([]);
    looks.disturbed(7, now_ns);
    expect(looks.take(now_ns + S / 2n, all)).toEqual([7]);
  });

  test("is not put off by looks that are disturbed while it waits", () => {
    const looks = settledLooks();
    looks.disturbed(7, S);
    looks.disturbed(7, S + S / 4n);
    expect(looks.take(S + S / 2n, all)).toEqual([7]);
  });
});
