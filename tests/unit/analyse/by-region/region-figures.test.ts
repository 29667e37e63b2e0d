import { expect, test } from "bun:test";
import { regionFigures } from "../../../../src/analyse/by-region/region-figures.ts";
import { placeIndex } from "../../../../src/label/regions/place-index.ts";
import { input, MS, region, watch } from "../sample-input.ts";

/** A region of 64 KiB with so many watches of 10 ms, one after another. */
function seen(watches: number) {
  const made = input({
    regions: [region({ pid: 1, addr: 4096n, size_bytes: 65_536, region_type: "weight", tensor: "w" })],
    watches: Array.from({ length: watches }, (_, i) =>
      watch([[(10 * i + 5) * MS, "load"]], {
        watch_id: i + 1,
        addr: BigInt(4096 + 64 * i),
        region_type: "weight",
        tensor: "w",
        stratum_bytes: 65_536,
        begin_ns: 10 * i * MS,
        end_ns: 10 * (i + 1) * MS,
      }),
    ),
  });
  return regionFigures(made, placeIndex(made.regions));
}

test("a region on which enough watches fell has no more in memory than its bytes, and says that its pages are not recorded", () => {
  const [found] = seen(40);
  expect(found).toMatchObject({ tensor: "w", size_bytes: 65_536 });
  const rows = found?.rows.filter(({ metric }) => metric === "resident_bytes") ?? [];
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({ status: "bound", value: null, lo: null, hi: 65_536, unit: "bytes" });
  expect(rows[0]?.why).toContain("which of its pages are resident is not recorded");
});

test("a region on which few watches fell has no figures", () => {
  expect(seen(29)).toEqual([]);
});

test("a region of which some words are drawn more often than others counts each byte once", () => {
  // Of 64 KiB a quarter has half of the watches, and one access in each; the others have none.
  const made = input({
    window_ns: 1400 * MS,
    regions: [region({ pid: 1, addr: 4096n, size_bytes: 65_536, region_type: "activation", death_ns: 1400 * MS })],
    watches: Array.from({ length: 140 }, (_, i) => {
      const isBusy = i % 2 === 1;
      const place = ((7 * i) % 20) / 2;
      const stratum_bytes = isBusy ? 16_384 : 49_152;
      return watch(isBusy ? [[(10 * i + place) * MS, "load"]] : [], {
        watch_id: i + 1,
        addr: BigInt((isBusy ? 53_248 : 4096) + 64 * i),
        region_type: "activation",
        stratum: isBusy ? "activation/most_reused" : "activation",
        stratum_bytes,
        inclusion_probability: 8 / stratum_bytes,
        begin_ns: 10 * i * MS,
        end_ns: 10 * (i + 1) * MS,
      });
    }),
  });
  const [found] = regionFigures(made, placeIndex(made.regions));
  const row = found?.rows.find(({ metric }) => metric === "read_bytes_per_s");
  expect((row?.value ?? 0) / 16_384 / 100).toBeCloseTo(1, 1);
});
