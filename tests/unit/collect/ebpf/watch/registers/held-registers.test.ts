import { describe, expect, test } from "bun:test";
import { heldUntil } from "../../../../../../src/collect/ebpf/watch/registers/held-registers.ts";

const [MS, SECOND] = [1_000_000n, 1_000_000_000n];

describe("a register goes back to the kernel", () => {
  test("2 s after it was taken at once", () => {
    expect(heldUntil(5n * SECOND, 5n * SECOND + 10n * MS)).toBe(7n * SECOND + 10n * MS);
  });
  test("a hundred times as long after as the kernel made us wait for it, and a thousand times where that was a tenth of a second", () => {
    expect(heldUntil(0n, 50n * MS)).toBe(5n * SECOND + 50n * MS);
    expect(heldUntil(0n, 300n * MS)).toBe(300n * SECOND + 300n * MS);
  });
  test("ten minutes after at most", () => {
    expect(heldUntil(0n, 2600n * MS)).toBe(602n * SECOND + 600n * MS);
  });
});
