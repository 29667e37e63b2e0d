import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { formatBytes, formatCount, formatIn, formatNs, isShown } from "../../src/units.ts";

/** Everything that a double can be, and what is near the ends of units. */
const any = fc.oneof(
  fc.double(),
  fc.double({ min: 0, max: 1e20 }),
  fc
    .tuple(fc.integer({ min: -70, max: 70 }), fc.double({ min: 0.9, max: 1.1, noNaN: true }))
    .map(([e, m]) => m * 2 ** e),
  fc.constantFrom(0, -0, 1.53e-59, -18_800, 999.95, 1023.999, 9999.5, Number.NaN, Number.POSITIVE_INFINITY),
);

const FORMATS = [
  ["bytes", formatBytes, /^-?\d{1,4}(?:\.\d{1,2})? (?:[KMGTPE]i)?B$/],
  ["time", formatNs, /^-?\d{1,7}(?:\.\d{1,6})?(?:e-[56])? (?:ns|us|ms|s|min|h)$/],
  ["counts", formatCount, /^-?\d{1,5}(?:\.\d{1,5})?(?:[kMGTPE]|e-\d{1,2})?$/],
] as const;

describe("whatever a figure is, its text is one that people can read", () => {
  for (const [what, format, form] of FORMATS) {
    test(`of ${what}`, () => {
      fc.assert(
        fc.property(any, (value) => {
          const text = format(value);
          if (isShown(value)) expect(text).toMatch(form);
          else expect(text).toBe("unknown");
        }),
        { numRuns: 2000 },
      );
    });
  }
});

const SUFFIX: Record<string, number> = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };

test("the text of a count is the count to three digits, and what is called nothing is nothing", () => {
  fc.assert(
    fc.property(any.filter(isShown), (value) => {
      const [, digits = "", exponent = "", suffix = ""] =
        /^(-?[\d.]+)(e-\d+)?([A-Za-z]*)$/.exec(formatCount(value)) ?? [];
      const back = Number(digits + exponent) * (SUFFIX[suffix] ?? Number.NaN);
      expect(Math.abs(back - value)).toBeLessThanOrEqual(0.00501 * Math.abs(value) + 1e-12);
    }),
    { numRuns: 2000 },
  );
});

test("an end of an interval in another figure's unit is a plain number, or a question mark", () => {
  const scale = fc.constantFrom({ factor: 1e6, unit: " ms" }, { factor: 1, unit: " B" }, { factor: 1e-9, unit: "e-9" });
  fc.assert(
    fc.property(any, scale, (value, unit) => {
      const text = formatIn(value, unit);
      expect(text).not.toMatch(/NaN|Infinity|e-[1-9]\d/);
      if (!isShown(value)) expect(text).toBe("?");
    }),
  );
});
