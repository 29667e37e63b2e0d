import { expect, test } from "bun:test";
import {
  type LifecycleAccount,
  lifecycleWarnings,
} from "../../../../../src/collect/ebpf/lifecycle/lifecycle-warnings.ts";

const account = (change: Partial<LifecycleAccount>): LifecycleAccount => ({
  found: { births: 0, execs: 0, ends: 0 },
  gaps: { gaps: 0, covered_ns: 0, longest_ns: 0 },
  unfollowed: { table_full: 0, of_32_bits: 0 },
  lost: () => 0,
  ...change,
});

test("there is nothing to say where nothing was missed", () => {
  expect(lifecycleWarnings(account({}))).toEqual([]);
});

test("each kind of what was missed is a sentence with its count", () => {
  const gaps = { gaps: 4, covered_ns: 1.2e9, longest_ns: 5e8 };
  expect(lifecycleWarnings(account({ lost: () => 712, gaps }))[0]).toStartWith("712 records of mappings");
  expect(lifecycleWarnings(account({ lost: () => 712, gaps }))[0]).toContain("in 4 gaps of 1.20 s together");
  expect(lifecycleWarnings(account({ found: { births: 3, execs: 2, ends: 1 } }))[0]).toContain(
    "3 births, 2 execs and 1 ends",
  );
  expect(lifecycleWarnings(account({ unfollowed: { table_full: 9, of_32_bits: 0 } }))[0]).toStartWith(
    "processes were not followed (9)",
  );
  expect(lifecycleWarnings(account({ unfollowed: { table_full: 0, of_32_bits: 2 } }))[0]).toStartWith(
    "programs of 32 bits ran (2)",
  );
});
