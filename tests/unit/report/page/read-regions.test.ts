import { describe, expect, test } from "bun:test";
import { layOut, type Region, regionColumns } from "../../../../src/report/page/data/read-regions.ts";

const region = (change: Partial<Region>): Region => ({
  region_id: 1,
  region_type: "weight",
  mapping_kind: "file",
  name: "w",
  layer: null,
  pid: 7,
  addr: 0n,
  size_bytes: 100,
  resident_bytes: null,
  birth_ns: 0n,
  death_ns: 10n ** 9n,
  access_rows: 0,
  evidence: "file",
  ...change,
});

describe("the map of addresses", () => {
  test("leaves out gaps, keeps shared bytes once, and gives each class as many rows", () => {
    const regions = [
      region({ addr: 1000n }),
      region({ addr: 1100n, size_bytes: 300 }),
      // The same bytes later, and a part of them.
      region({ addr: 1150n, size_bytes: 50 }),
      region({ addr: 9000n }),
      region({ addr: 1n << 46n, region_type: "kv_cache", size_bytes: 64 }),
    ];
    const map = layOut(regions, ["weight", "kv_cache"], 512);
    expect(map.rows).toBe(1024);
    expect(map.bands).toEqual([
      { class: 0, row: 0, rows: 512, bytes: 500 },
      { class: 1, row: 512, rows: 512, bytes: 64 },
    ]);
    expect(map.places).toEqual([
      { band: 0, from_byte: 0 },
      { band: 0, from_byte: 100 },
      { band: 0, from_byte: 150 },
      { band: 0, from_byte: 400 },
      { band: 1, from_byte: 0 },
    ]);
    const columns = regionColumns(regions, ["weight", "kv_cache"], map, 0n);
    expect(columns.map_row).toEqual([0, 102.4, 153.6, 409.6, 512]);
    expect(columns.map_rows).toEqual([102.4, 307.2, 51.2, 102.4, 512]);
  });

  test("takes no more of a name than a path has", () => {
    const named = [region({ name: "n".repeat(10_000), evidence: "e".repeat(10_000) })];
    const columns = regionColumns(named, ["weight"], layOut(named, ["weight"], 10), 0n);
    expect([columns.name, columns.evidence]).toEqual([["n".repeat(4096)], ["e".repeat(4096)]]);
  });

  test("takes equal addresses of two processes for two places", () => {
    const map = layOut([region({ pid: 1 }), region({ pid: 2 })], ["weight"], 10);
    expect(map.places).toEqual([
      { band: 0, from_byte: 0 },
      { band: 0, from_byte: 100 },
    ]);
  });

  test("has no room for a kind of mapping that nobody was seen to access", () => {
    const silent = { region_type: "unknown", mapping_kind: "vdso" };
    expect(layOut([region(silent)], ["vdso"], 10).bands).toEqual([]);
    expect(layOut([region({ ...silent, access_rows: 1 })], ["vdso"], 10).bands).toHaveLength(1);
  });
});
