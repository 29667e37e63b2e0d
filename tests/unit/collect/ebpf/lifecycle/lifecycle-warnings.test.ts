import { expect, test } from "bun:test";
import {
  type LifecycleAccount,
  lifecycleWarnings,
} from "../../../../../src/collect/ebpf/lifecycle/lifecycle-warnings.ts";

const NONE = { direct_opens: 0, buffer_registrations: 0, splices: 0, process_copies: 0 };

const account = (change: Partial<LifecycleAccount>): LifecycleAccount => ({
  found: { births: 0, execs: 0, ends: 0 },
  gaps: { gaps: 0, covered_ns: 0, longest_ns: 0 },
  unfollowed: { table_full: 0, of_32_bits: 0 },
  lost: () => 0,
  otherWays: () => NONE,
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

test("ways by which bytes go past the mappings are said together, with how often each was there", () => {
  const said = (ways: Partial<typeof NONE>) => lifecycleWarnings(account({ otherWays: () => ({ ...NONE, ...ways }) }));
  const [sentence, ...more] = said({ direct_opens: 3, process_copies: 12 });
  expect(more).toEqual([]);
  expect(sentence).toStartWith(
    "bytes went past the mappings, where no watch sees it (files opened with O_DIRECT: 3; copies between processes (process_vm_readv, process_vm_writev): 12):",
  );
  expect(said({ buffer_registrations: 1 })[0]).toContain("(registrations of buffers with io_uring: 1)");
  expect(said({ splices: 2 })[0]).toContain("(calls of vmsplice: 2)");
});
