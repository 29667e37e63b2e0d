import { expect, test } from "bun:test";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import { allocatedBytes } from "../../../../src/analyse/metrics/allocated-bytes.ts";
import { residentBytes } from "../../../../src/analyse/metrics/resident-bytes.ts";
import { input, MS, region } from "../sample-input.ts";

test("bytes of a file that a process maps twice are allocated once, and resident once", () => {
  const weights = { pid: 1, size_bytes: 4096, region_type: "weight" } as const;
  const made = input({
    regions: [region({ ...weights, addr: 4096n }), region({ ...weights, addr: 65_536n, is_twin: true })],
    residency: {
      look_ns: [100 * MS],
      latest: Int32Array.of(0, 1),
      before: [-1, -1],
      first_look: [0, 0],
      last_look: [0, 0],
      bytes: [4096, 4096],
    },
  });
  const [group] = groupsOf(made).filter(({ scope }) => scope === "class");
  if (group === undefined) throw new Error("no class");
  expect(group.regions.rows.length).toBe(2);
  expect(allocatedBytes.figures(group, [])[0]?.estimate).toMatchObject({ value: 4096 });
  expect(residentBytes.figures(group, [])[0]?.estimate).toMatchObject({ value: 4096, lo: 4096, hi: 4096 });
});
