import { expect, test } from "bun:test";
import { regionFigures } from "../../../../src/analyse/by-region/region-figures.ts";
import { estimate } from "../../../../src/analyse/estimate.ts";
import { spansOf } from "../../../../src/analyse/input/span.ts";
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

test("a region that was there for a tenth of the time is read as often as it is while it is there", () => {
  // A pass over each of its bytes in 10 ms for 1.4 s; then other memory is watched.
  const ofRegion = (i: number) =>
    watch([[(10 * i + ((7 * i) % 20) / 2) * MS, "load"]], {
      ...{ watch_id: i + 1, addr: BigInt(4096 + 64 * i), region_type: "activation", stratum: "activation" },
      ...{ stratum_bytes: 65_536, inclusion_probability: 8 / 65_536, begin_ns: 10 * i * MS, end_ns: 10 * (i + 1) * MS },
      region_death_ns: 1400 * MS,
    });
  const elsewhere = (i: number) =>
    watch([], {
      ...{ watch_id: 141 + i, addr: BigInt(1e6 + 64 * i), region_type: "weight", stratum: "weight" },
      ...{ stratum_bytes: 65_536, inclusion_probability: 8 / 65_536 },
      ...{ begin_ns: (1400 + 100 * i) * MS, end_ns: (1500 + 100 * i) * MS },
    });
  const made = input({
    window_ns: 14_000 * MS,
    regions: [
      region({ pid: 1, addr: 4096n, size_bytes: 65_536, region_type: "activation", death_ns: 1400 * MS }),
      region({ pid: 1, addr: 1_000_000n, size_bytes: 65_536, region_type: "weight", death_ns: 14_000 * MS }),
    ],
    watches: [
      ...Array.from({ length: 140 }, (_, i) => ofRegion(i)),
      ...Array.from({ length: 126 }, (_, i) => elsewhere(i)),
    ],
  });
  const [point] = estimate(made, placeIndex(made.regions)).curves.filter(
    ({ curve, region_type }) => curve === "read_rate_by_lifetime" && region_type === "activation",
  );
  expect(point?.y).toBeWithin(90, 110);
});

test("a region of a heap has room for pages that were written as they were touched first, as its class has", () => {
  const window_ns = 2000 * MS;
  const place = { region_type: "unknown", mapping_kind: "heap" } as const;
  const counted = {
    ...{
      faults: 1000,
      first_touches: 1000,
      file_first_touches: 0,
      major_faults: 0,
      kernel_faults: 0,
      write_faults: 1000,
    },
  };
  const spans = spansOf([], window_ns);
  const made = input({
    window_ns,
    counts: {
      ...{ spans, process: null, memray: null, points: [] },
      faults: { rows: 1000, all: [counted], classes: [{ ...place, spans: [counted] }], files: [] },
    },
    regions: [region({ pid: 1, addr: 4096n, size_bytes: 65_536, ...place, death_ns: window_ns })],
    watches: Array.from({ length: 200 }, (_, i) =>
      watch([[(10 * i + ((7 * i) % 20) / 2) * MS, "store"]], {
        ...{ watch_id: i + 1, addr: BigInt(4096 + 64 * i), ...place, stratum: "heap", stratum_bytes: 65_536 },
        ...{ inclusion_probability: 8 / 65_536, begin_ns: 10 * i * MS, end_ns: 10 * (i + 1) * MS },
      }),
    ),
  });
  const index = placeIndex(made.regions);
  const written = (rows: readonly { metric: string; hi: number | null }[] | undefined) =>
    rows?.find(({ metric }) => metric === "write_bytes_per_s")?.hi ?? 0;
  const ofClass = written(estimate(made, index).metrics.filter((row) => row.mapping_kind === "heap"));
  const [found] = regionFigures(made, index);
  expect(ofClass).toBeGreaterThan(0);
  expect(written(found?.rows) / ofClass).toBeWithin(0.95, 1.05);
});
