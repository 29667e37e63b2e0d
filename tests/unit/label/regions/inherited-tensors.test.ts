import { describe, expect, test } from "bun:test";
import { type Fork, sinceFork } from "../../../../src/label/regions/inherited-tensors.ts";
import type { TensorLifetime } from "../../../../src/regions/tensor-map.ts";

const tensor = (fields: Partial<TensorLifetime> = {}): TensorLifetime =>
  ({
    pid: 8,
    engine: "llama.cpp",
    name: "cache_k_l0",
    addr: 0x2000n,
    size_bytes: 0x1000n,
    birth_ns: 500n,
    birth_censored: true,
    death_ns: null,
    ...fields,
  }) as TensorLifetime;
const parents = tensor({ pid: 7, birth_ns: 100n, birth_censored: false });
const fork = (parent: number, child: number, time_ns: bigint): Fork => ({ parent, child, time_ns });

const birthsOf = (lives: readonly TensorLifetime[], ...forks: readonly Fork[]) =>
  sinceFork(lives, forks).map(({ birth_ns }) => birth_ns);

describe("a tensor that a child's graph tells of", () => {
  test("lives since the fork where its parent had it then", () => {
    expect(birthsOf([parents, tensor()], fork(7, 8, 300n))).toEqual([100n, 300n]);
  });

  test("lives since its own fork in a child of the child", () => {
    const lives = [parents, tensor(), tensor({ pid: 9, birth_ns: 900n })];
    expect(birthsOf(lives, fork(7, 8, 300n), fork(8, 9, 400n))).toEqual([100n, 300n, 400n]);
  });

  test("lives since it was found where its parent had none, another one, or one that was gone", () => {
    for (const other of [
      tensor({ pid: 7, birth_ns: 350n }),
      tensor({ pid: 7, birth_ns: 100n, death_ns: 300n }),
      tensor({ pid: 7, birth_ns: 100n, name: "cache_k_l1" }),
      tensor({ pid: 7, birth_ns: 100n, addr: 0x3000n }),
      tensor({ pid: 6, birth_ns: 100n }),
    ]) {
      expect(birthsOf([other, tensor()], fork(7, 8, 300n))[1]).toBe(500n);
    }
  });

  test("lives since it was placed where that was seen, and where another one held its bytes before", () => {
    expect(birthsOf([parents, tensor({ birth_censored: false })], fork(7, 8, 300n))[1]).toBe(500n);
    const before = tensor({ name: "other", birth_ns: 350n, death_ns: 450n });
    expect(birthsOf([parents, before, tensor()], fork(7, 8, 300n))[2]).toBe(500n);
  });

  test("is of the process that had the number by then", () => {
    const forks = [fork(7, 8, 300n), fork(7, 8, 450n)];
    expect(birthsOf([parents, tensor()], ...forks)[1]).toBe(450n);
    expect(birthsOf([parents, tensor({ birth_ns: 400n, death_ns: 420n }), tensor()], ...forks)).toEqual([
      100n,
      300n,
      450n,
    ]);
  });
});
