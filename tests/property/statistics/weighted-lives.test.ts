import { expect, test } from "bun:test";
import fc from "fast-check";
import { recurrentQuantiles, recurrentSample } from "../../../src/statistics/survival/recurrent-survival.ts";
import { lifeQuantiles } from "../../../src/statistics/weighted-lives.ts";
import { observedQuantile } from "../../../src/statistics/weighted-quantile.ts";

const QS = [0.5, 0.9, 0.99];

test("quantiles of lives are those of the curve over units that each show one time, and of what was seen", () => {
  const life = fc.record({ time: fc.nat(12), isWhole: fc.boolean(), weight: fc.integer({ min: 1, max: 9 }) });
  fc.assert(
    fc.property(fc.array(life, { maxLength: 40 }), (lives) => {
      const weights = lives.map(({ weight }) => weight);
      const sample = recurrentSample(
        lives.map(({ time, isWhole }) =>
          isWhole ? { complete: [time], censored: [] } : { complete: [], censored: [time] },
        ),
        weights,
      );
      const found = lifeQuantiles(
        {
          count: lives.length,
          time: (i) => lives[i]?.time ?? 0,
          isWhole: (i) => lives[i]?.isWhole ?? false,
          weight: (i) => lives[i]?.weight ?? 0,
        },
        QS,
      );
      expect(found.curve).toEqual(recurrentQuantiles(sample, QS, []).map(({ value }) => value));
      const times = lives.map(({ time }) => time);
      expect(found.seen).toEqual(QS.map((q) => observedQuantile(times, weights, q)));
      const asIfEndless = lives.map(({ time, isWhole }) => (isWhole ? time : Number.POSITIVE_INFINITY));
      const most = QS.map((q) => observedQuantile(asIfEndless, weights, q));
      expect(found.endless).toEqual(most.map((time) => (time === Number.POSITIVE_INFINITY ? null : time)));
      for (const [k, value] of found.curve.entries()) {
        const [least, longest] = [found.seen[k] ?? 0, found.endless[k] ?? Number.POSITIVE_INFINITY];
        if (value !== null) expect(least <= value && value <= longest).toBe(true);
      }
      expect(found.censored).toBeCloseTo(sample.censored, 12);
      expect(found.n_censored).toBe(sample.n_censored);
    }),
    { numRuns: 300 },
  );
});
