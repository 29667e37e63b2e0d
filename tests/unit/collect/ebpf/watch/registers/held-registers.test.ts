import { describe, expect, test } from "bun:test";
import { heldUntil } from "../../../../../../src/collect/ebpf/watch/registers/held-registers.ts";

const [MS, SECOND] = [1_000_000n, 1_000_000_000n];

describe("a register goes back to the kernel", () => {
  test("2 s after it was taken at once", () => {
    expect(heldUntil(5n * SECOND, 5n * SECOND + 10n * MS)).toBe(7n * SECOND + 10n * MS);
  });
  test("a hundred times as long after as the kernel made us wait for it", () => {
    expect(heldUntil(0n, 300n * MS)).toBe(30n * SECOND + 300n * MS);
  });
  test("a minute after at most", () => {
    expect(heldUntil(0n, 2600n * MS)).toBe(62n * SECOND + 600n * MS);
  });
});
