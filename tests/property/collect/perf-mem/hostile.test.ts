import { expect, test } from "bun:test";
import fc from "fast-check";
import { MrmTraceError } from "../../../../src/errors.ts";
import { hostileCase, seeds } from "../../../fixtures/perf-fuzz.ts";

test("whatever happens to the bytes of a perf.data file or of text, reading them ends in rows or in one clear error", async () => {
  const corpus = await seeds();
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0 }), async (seed) => {
      const { rows, samples, error, bytes } = await hostileCase(corpus, seed);
      if (error !== null) expect(error).toBeInstanceOf(MrmTraceError);
      expect(rows).toBeLessThanOrEqual(samples);
      // No record is smaller than 8 bytes; compressed ones unpack to a bounded multiple.
      expect(samples).toBeLessThan(bytes + 1e6);
    }),
    { numRuns: 4000, interruptAfterTimeLimit: 8000, markInterruptAsFailure: false },
  );
});
