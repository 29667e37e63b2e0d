import { expect, test } from "bun:test";
import fc from "fast-check";
import { MrmTraceError } from "../../../../src/errors.ts";
import { hostileCaptures, memraySeeds } from "../../../fixtures/memray-fuzz.ts";

test("whatever happens to the bytes of a memray capture, reading it ends in rows or in one clear error", () => {
  const corpus = memraySeeds();
  using captures = hostileCaptures();
  fc.assert(
    fc.property(fc.integer({ min: 0 }), (seed) => {
      const { rows, samples, error } = captures.read(corpus, seed);
      if (error !== null) expect(error).toBeInstanceOf(MrmTraceError);
      expect(rows).toBeLessThanOrEqual(samples);
    }),
    { numRuns: 6000, interruptAfterTimeLimit: 8000, markInterruptAsFailure: false },
  );
});
