import { expect, test } from "bun:test";
import { derivingLimits } from "../../../src/pipelines/deriving-memory.ts";

const MIB = 2 ** 20;
const left = (mib: number) => ({ bytes: mib * MIB, set_by: "memory.max of /sys/fs/cgroup/job" });

test("deriving takes what is left, up to 600 MiB unless more is asked for", () => {
  const most = derivingLimits("r", null, left(8000));
  expect(most).toEqual(derivingLimits("r", null, left(600)));
  expect(most.labelBytes).toBeGreaterThan(300 * MIB);
  expect(derivingLimits("r", null, left(400)).labelBytes).toBeLessThan(most.labelBytes ?? 0);
  expect(derivingLimits("r", 2000 * MIB, left(8000)).labelBytes).toBeGreaterThan(1600 * MIB);
  expect(derivingLimits("r", 2000 * MIB, left(600))).toEqual(most);
});

test("where there is much memory deriving takes a sixteenth of it, 2 GiB at most", () => {
  expect(derivingLimits("r", null, left(16_000))).toEqual(derivingLimits("r", 1000 * MIB, left(16_000)));
  expect(derivingLimits("r", null, left(9_600))).toEqual(derivingLimits("r", 600 * MIB, left(9_600)));
  expect(derivingLimits("r", null, left(500_000))).toEqual(derivingLimits("r", 2048 * MIB, left(500_000)));
  expect(derivingLimits("r", 300 * MIB, left(500_000))).toEqual(derivingLimits("r", null, left(300)));
});

test("where too little is left it refuses, naming what sets the bound and where to go on", () => {
  expect(() => derivingLimits("results/m/r", null, left(200))).toThrow(
    "deriving takes at least 260 MiB of memory, and memory.max of /sys/fs/cgroup/job leaves 200 MiB; what was recorded is kept",
  );
});
