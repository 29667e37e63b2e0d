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
