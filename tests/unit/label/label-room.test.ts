import { describe, expect, test } from "bun:test";
import { MrmTraceError } from "../../../src/errors.ts";
import { labelRoom } from "../../../src/label/label-room.ts";
import { derivingLimits } from "../../../src/pipelines/deriving-memory.ts";

const GIB = 2 ** 30;

/** The hint that a refusal says. */
function hintOf(refused: () => void): string {
  try {
    refused();
  } catch (error) {
    if (error instanceof MrmTraceError) return error.hint ?? "";
    throw error;
  }
  return "";
}

describe("a run that holds more than there is memory for", () => {
  test.each([300_000, 700_000, 5_000_000, 40_000_000])(
    "is refused with an amount that is enough for %d steps, and no larger than it must be",
    (steps) => {
      const hint = hintOf(() => {
        const room = labelRoom(100_000_000);
        room.take("rows of tensors", 1000);
        room.take("steps of engines", steps);
      });
      const gib = Number(/--memory (\d+)GiB/.exec(hint)?.[1]);
      const held = (amount: number) => () => {
        const room = labelRoom(derivingLimits("run", amount * GIB, { bytes: 1e15, set_by: "a test" }).labelBytes);
        room.take("rows of tensors", 1000);
        room.take("steps of engines", steps);
      };
      expect(gib).toBeGreaterThan(0);
      expect(held(gib)).not.toThrow();
      if (gib > 1) expect(held(gib - 1)).toThrow();
    },
  );
});
