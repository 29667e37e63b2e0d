import { expect, test } from "bun:test";
import { drawRegions } from "../../../../../../src/collect/ebpf/watch/frame/draw-regions.ts";
import type { LiveTensor } from "../../../../../../src/engine/engine.ts";
import { createProcessMaps, type ProcessMaps } from "../../../../../../src/regions/mapping-events.ts";
import { ANON, mmap, mprotect, page } from "../../../../../fixtures/mapping-rows.ts";

const weight: LiveTensor = {
  engine: "engine",
  pid: 100,
  name: "a.weight",
  tensor_type: "f32",
  addr: page(11),
  size_bytes: 4096,
  ne: [1024],
  nb: [],
  region_type: "weight",
  layer: null,
  logical_id: "a.weight",
  kv_layout: null,
  drawn: true,
};

function drawnOf(maps: ProcessMaps, tensors: readonly LiveTensor[]) {
  const empty = {
    lookAgain() {},
    filled: ({ addr, size_bytes }: { addr: bigint; size_bytes: bigint }) => [{ from: addr, to: addr + size_bytes }],
  };
  return drawRegions(maps, { liveTensors: () => [...tensors] }, empty);
}

/** Strata by first address of what is drawn of a file, read only, and a heap, with one tensor in the file. */
function strata(...tensors: LiveTensor[]): Record<string, string> {
  const maps = createProcessMaps();
  maps.apply(mmap(1, 10, 4, 1, { flags: 2, inode: 5n, dev: 1, file_offset_bytes: 0n }));
  maps.apply(mmap(2, 50, 4, 3, { flags: ANON }));
  return Object.fromEntries(drawnOf(maps, tensors).map(({ addr, stratum }) => [String(addr / page(1)), stratum]));
}

test("beside tensors that a file names other memory stays what nobody knows, and is drawn whole", () => {
  expect(strata({ ...weight, is_alone: true })).toEqual({
    "10": "unknown/file",
    "11": "weight/f32",
    "12": "unknown/file",
    "50": "unknown/anon",
  });
});

test("beside tensors that an engine names other memory that can be written is its runtime", () => {
  expect(strata(weight)).toEqual({ "11": "weight/f32", "50": "runtime/anon" });
});

test.each<[string, LiveTensor[], string]>([
  ["beside an engine", [weight], "runtime/anon"],
  ["without one", [], "unknown/anon"],
])(
  "memory that nobody may use for a while stays drawn, %s, and what is kept for later is not yet",
  (_, tensors, stratum) => {
    const maps = createProcessMaps();
    maps.apply(mmap(1, 50, 4, 3, { flags: ANON }));
    maps.apply(mprotect(2, 50, 4, 0));
    maps.apply(mmap(3, 60, 64, 0, { flags: ANON }));
    maps.apply(mprotect(4, 60, 2, 3));
    const drawn = drawnOf(maps, tensors).filter(({ tensor }) => tensor === null);
    expect(drawn.map(({ addr, size_bytes, stratum: name }) => [addr / page(1), size_bytes / 4096, name])).toEqual([
      [50n, 4, stratum],
      [60n, 2, stratum],
    ]);
  },
);

test("memory that activations share is drawn by how many of them take turns there", () => {
  const at = (name: string, first: number, pages: number): LiveTensor => ({
    ...weight,
    name,
    addr: page(first),
    size_bytes: 4096 * pages,
    region_type: "activation",
  });
  const turns = Array.from({ length: 24 }, (_, i) => at(`norm-${i}`, 50, 1));
  const fewer = Array.from({ length: 12 }, (_, i) => at(`ffn-${i}`, 51, 1));
  expect(strata(weight, ...turns, ...fewer, at("result", 52, 2))).toEqual({
    "11": "weight/f32",
    "50": "activation/most_reused",
    "51": "activation",
  });
});
