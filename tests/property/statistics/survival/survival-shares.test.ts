import { expect, test } from "bun:test";
import fc from "fast-check";
import { pooledSample, survivalAt } from "../../../../src/statistics/survival/recurrent-survival.ts";
import { sharesOf } from "../../../../src/statistics/survival/survival-shares.ts";

const times = fc.array(fc.nat(12), { maxLength: 4 });
const unit = fc.record({
  complete: times,
  censored: times,
  weight: fc.integer({ min: 1, max: 9 }),
  law: fc.nat(2),
  drawn: fc.nat(3),
});

test("the shares of a resample are those of the curve over units that stand there as often as they were drawn", () => {
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 30 }), fc.integer({ min: 1, max: 3 }), (units, laws) => {
      const lawsOf = (some: typeof units): Uint32Array => Uint32Array.from(some, ({ law }) => law % laws);
      const sampleOf = (some: typeof units) =>
        pooledSample(
          some,
          some.map(({ weight }) => weight),
          lawsOf(some),
        );
      const curve = sharesOf(sampleOf(units));
      const drawn = sampleOf(units.flatMap((one) => Array.from({ length: one.drawn }, () => one)));
      const out = new Float64Array(curve.values.length);
      curve.resampled(
        Uint16Array.from(units, (one) => one.drawn),
        Uint32Array.from(curve.values.keys()),
        out,
      );
      for (const [i, value] of curve.values.entries()) {
        const ended = 1 - survivalAt(drawn, value);
        if (Number.isNaN(ended)) expect(out[i]).toBeNaN();
        else expect(out[i] ?? 0).toBeCloseTo(ended, 9);
        expect(curve.shares[i] ?? 0).toBeCloseTo(1 - survivalAt(sampleOf(units), value), 9);
      }
    }),
  );
});
