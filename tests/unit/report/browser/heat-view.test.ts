import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { moved, type View, zoomed } from "../../../../src/report/browser/heat-view.ts";

const whole: View = { begin: 0, end: 30_000, top: 0, bottom: 1024 };

describe("the part of the map that is seen", () => {
  test("stays within the whole and never turns over, however it is zoomed and moved", () => {
    const part = fc.double({ min: -2, max: 2, noNaN: true });
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const factor = fc.constantFrom(0.5, 1 / 1.6, 1.6, 2, 100);
    const act = fc.oneof(
      fc.tuple(factor, share, share).map(
        ([f, x, y]) =>
          (view: View) =>
            zoomed(view, whole, f, x, y),
      ),
      fc.tuple(part, part).map(
        ([x, y]) =>
          (view: View) =>
            moved(view, whole, x, y),
      ),
    );
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
        const view = acts.reduce((seen, next) => next(seen), whole);
        expect(view.begin).toBeGreaterThanOrEqual(0);
        expect(view.end).toBeLessThanOrEqual(whole.end + 1e-6);
        expect(view.top).toBeGreaterThanOrEqual(0);
        expect(view.bottom).toBeLessThanOrEqual(whole.bottom + 1e-6);
        expect(view.end - view.begin).toBeGreaterThanOrEqual(whole.end / 4096 - 1e-6);
        expect(view.bottom - view.top).toBeGreaterThanOrEqual(whole.bottom / 4096 - 1e-6);
      }),
    );
  });

  test("keeps the place under the pointer while it zooms", () => {
    const view = zoomed(whole, whole, 2, 0.25, 0.75);
    expect(view).toEqual({ begin: 3750, end: 18_750, top: 384, bottom: 896 });
    expect(zoomed(view, whole, 0.5, 0.25, 0.75)).toEqual(whole);
  });
});
