import { describe, expect, test } from "bun:test";
import { heldUntil } from "../../../../../../src/collect/ebpf/watch/registers/held-registers.ts";

const [MS, SECOND] = [1_000_000n, 1_000_000_000n];

describe("a register goes back to the kernel", () => {
  test("10 s after it was taken where none was waited for", () => {
    expect(heldUntil(5n * SECOND, 2n * MS)).toBe(15n * SECOND);
  });
  test("a thousand times as long after as the kernel made us wait for one at most so far", () => {
    expect(heldUntil(SECOND, 50n * MS)).toBe(51n * SECOND);
    expect(heldUntil(SECOND, 300n * MS)).toBe(301n * SECOND);
  });
  test("ten minutes after at most", () => {
    expect(heldUntil(SECOND, 2600n * MS)).toBe(601n * SECOND);
  });
});
