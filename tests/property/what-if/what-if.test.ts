/** Whatever the inputs are within their ends, what comes out lies within its own. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DEVICE_FIGURES, type Device, deviceSchema } from "../../../src/config/device-schema.ts";
import type { Demand } from "../../../src/what-if/demand.ts";
import type { DeviceFigures } from "../../../src/what-if/device-figures.ts";
import { loadOf, refreshesOf, refreshesPerHour, refreshesPerWrite } from "../../../src/what-if/load.ts";
import { type Outcome, outcomeOf } from "../../../src/what-if/outcome.ts";
import { between, exactly, most, product, type Quantity, quotient, sum } from "../../../src/what-if/quantity.ts";

const RUNS = { numRuns: 300, seed: 20261123 };
const ROUNDING = 1e-9;
const size = fc.double({ min: 1e-3, max: 1e12, noNaN: true });

/** A quantity of any kind, and a value that it may have. */
const ranged = fc
  .tuple(
    size,
    size,
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.constantFrom("whole", "bound", "lower", "upper", "none"),
  )
  .map(([a, b, share, kind]) => {
    const [lo, hi] = a < b ? [a, b] : [b, a];
    const point = Math.min(hi, Math.max(lo, lo + share * (hi - lo)));
    const none: Quantity = { value: null, lo: 0, hi: null, status: "insufficient", why: "few", rests_on: ["x"] };
    const kinds: Record<string, Quantity> = {
      whole: { value: point, lo, hi, status: "ok", why: null, rests_on: ["x"] },
      bound: between(lo, hi, "ends"),
      lower: between(lo, null, "from below"),
      upper: between(0, hi, "from above"),
      none,
    };
    return { point, quantity: kinds[kind] ?? none };
  });

/** True where the ends of `inner` lie within those of `outer`, but for rounding. */
function isWithin(inner: Quantity, outer: Quantity): boolean {
  const isAbove = inner.lo >= outer.lo * (1 - ROUNDING);
  return isAbove && (outer.hi === null || (inner.hi !== null && inner.hi <= outer.hi * (1 + ROUNDING)));
}

describe("arithmetic on intervals", () => {
  test.each([
    ["sum", sum, (x: number, y: number) => x + y],
    ["product", product, (x: number, y: number) => x * y],
    ["quotient", quotient, (x: number, y: number) => x / y],
    ["the larger", most, (x: number, y: number) => Math.max(x, y)],
  ] as const)("%s holds what its parts may give", (_name, apply, exact) => {
    fc.assert(
      fc.property(ranged, ranged, (a, b) => {
        const result = apply(a.quantity, b.quantity);
        const truth = exact(a.point, b.point);
        expect(result.lo).toBeLessThanOrEqual(truth);
        expect(result.hi ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(truth);
        if (result.value !== null) expect(result.lo <= result.value && result.value <= (result.hi ?? 0)).toBe(true);
        // A whole figure has only whole parts, and what says nothing names why.
        if (result.status === "ok") expect([a.quantity.status, b.quantity.status]).toEqual(["ok", "ok"]);
        else expect(result.why).not.toBeNull();
      }),
      RUNS,
    );
  });

  test("refreshes of a write, and per hour, hold what any time of need within the ends gives", () => {
    fc.assert(
      fc.property(ranged, ranged, (kept, lasts) => {
        fc.pre(kept.point / lasts.point < 1e12);
        const n = refreshesOf(kept.point, lasts.point);
        const per_write = refreshesPerWrite(kept.quantity, lasts.quantity);
        expect(isWithin(exactly(n), per_write)).toBe(true);
        const per_hour = refreshesPerHour(kept.quantity, lasts.quantity);
        expect(isWithin(exactly((n / kept.point) * 3600e9), per_hour)).toBe(true);
      }),
      RUNS,
    );
  });
});

const NAMES = ["size", "read", "write", "p50", "p90", "p99", "tokens", ...DEVICE_FIGURES] as const;

function outcomeFrom(quantities: readonly Quantity[], device: Device): Outcome {
  const named = Object.fromEntries(NAMES.map((name, i) => [name, quantities[i]])) as Record<
    (typeof NAMES)[number],
    Quantity
  >;
  const demand: Demand = {
    name: "kv_cache",
    size_bytes: named.size,
    read_bytes_per_s: named.read,
    write_bytes_per_s: named.write,
    write_bytes_per_s_of_all: named.write,
    kept_ns: { p50: named.p50, p90: named.p90, p99: named.p99 },
    is_kept_by_life: false,
  };
  const figures: DeviceFigures = named;
  return outcomeOf(loadOf(demand, figures), demand, named.tokens, device, figures);
}

/** The retention time that some inputs give the device, ns. */
const lastsOf = (inputs: readonly { readonly point: number }[]): number =>
  inputs[NAMES.indexOf("retention")]?.point ?? Number.NaN;

describe("the outcome of a class on a device", () => {
  test("of exact figures lies within that of the intervals that hold them", () => {
    const devices = fc.record({
      refreshed_by: fc.constantFrom("device" as const, "software" as const),
      wear_levelling: fc.constantFrom(true, false, undefined),
    });
    fc.assert(
      fc.property(fc.array(ranged, { minLength: NAMES.length, maxLength: NAMES.length }), devices, (inputs, how) => {
        const device = deviceSchema.parse({ name: "any", ...how });
        const outer = outcomeFrom(
          inputs.map(({ quantity }) => quantity),
          device,
        );
        // A bandwidth that a file leaves out limits nothing, whatever it may be.
        const isLeftOut = (i: number): boolean =>
          /bandwidth/.test(NAMES[i] ?? "") && inputs[i]?.quantity.status === "insufficient";
        const inner = outcomeFrom(
          inputs.map(({ point, quantity }, i) => (isLeftOut(i) ? quantity : exactly(point))),
          device,
        );
        // What is kept at once has room in the class: other inputs are no run.
        const { hi } = inner.refresh_bytes_per_s;
        fc.pre(hi === null || hi <= ((inputs[0]?.point ?? 0) / lastsOf(inputs)) * 1e9 * (1 + ROUNDING));
        for (const [name, quantity] of Object.entries(outer)) {
          expect([name, isWithin(inner[name as keyof Outcome], quantity)]).toEqual([name, true]);
        }
      }),
      RUNS,
    );
  });

  test("has among its refreshed bytes those of any cache that is filled evenly", () => {
    const lives = fc.array(fc.double({ min: 1, max: 1e4, noNaN: true }), { minLength: 100, maxLength: 100 });
    fc.assert(
      fc.property(lives, fc.double({ min: 1, max: 1e4, noNaN: true }), (kept, lasts) => {
        const sorted = kept.toSorted((a, b) => a - b);
        const quantile = (share: number): Quantity => exactly(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
        const mean = (f: (x: number) => number): number => kept.reduce((total, x) => total + f(x), 0) / kept.length;
        // One byte a second of each life: so many are held at any moment, by Little's law, and each is refreshed so often.
        const demand: Demand = {
          name: "kv_cache",
          size_bytes: exactly(mean((x) => x) / 1e9),
          read_bytes_per_s: exactly(1),
          write_bytes_per_s: exactly(1),
          write_bytes_per_s_of_all: exactly(1),
          kept_ns: { p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99) },
          is_kept_by_life: false,
        };
        const { refresh_bytes_per_s } = loadOf(demand, { retention: exactly(lasts) });
        expect(isWithin(exactly(mean((x) => refreshesOf(x, lasts))), refresh_bytes_per_s)).toBe(true);
      }),
      RUNS,
    );
  });
});
