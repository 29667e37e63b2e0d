import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { urgently } from "../../../src/kernel/urgent.ts";

const ROOT = process.getuid?.() === 0;
/** Field 41 of /proc/PID/stat: 0 for SCHED_OTHER, 1 for SCHED_FIFO (proc_pid_stat(5)). */
const policyNow = () => Number(readFileSync("/proc/thread-self/stat", "utf8").split(") ")[1]?.split(" ")[38]);

test("urgent work runs in real time where root may, and what follows does not, also after it failed", () => {
  const before = policyNow();
  expect(urgently(policyNow)).toBe(ROOT ? 1 : before);
  expect(policyNow()).toBe(before);
  const inner = urgently(() => [urgently(policyNow), policyNow()]);
  expect(inner).toEqual(ROOT ? [1, 1] : [before, before]);
  expect(() =>
    urgently(() => {
      throw new Error("failed");
    }),
  ).toThrow("failed");
  expect(policyNow()).toBe(before);
});
