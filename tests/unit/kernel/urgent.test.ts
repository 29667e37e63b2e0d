import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { promptly, urgently } from "../../../src/kernel/urgent.ts";

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

/** Fields 19 and 41 of /proc/PID/stat: nice, and policy. */
const niceOf = (path: string): number => Number(readFileSync(path, "utf8").split(") ")[1]?.split(" ")[16]);
const niceNow = () => niceOf("/proc/thread-self/stat");
const niceOfChild = (): number => {
  const child = Bun.spawn(["sleep", "60"]);
  try {
    return niceOf(`/proc/${child.pid}/stat`);
  } finally {
    child.kill();
  }
};

test.skipIf(!ROOT || niceNow() !== 0)(
  "a thread that is to come round in time goes before others until it need no more",
  () => {
    {
      using prompt = promptly();
      expect([prompt.isPrompt, prompt.isRefused, niceNow()]).toEqual([true, false, -10]);
      expect([urgently(policyNow), policyNow(), niceNow()]).toEqual([1, 0, -10]);
      expect(niceOfChild()).toBe(0);
    }
    expect([niceNow(), urgently(policyNow), policyNow(), niceNow()]).toEqual([0, 1, 0, 0]);
  },
);

test("who has a priority of his own keeps it", () => {
  const module = new URL("../../../src/kernel/urgent.ts", import.meta.url).pathname;
  const script = `import { promptly } from "${module}"; import { getPriority } from "node:os"; using prompt = promptly(); console.log(prompt.isPrompt, prompt.isRefused, getPriority());`;
  const run = Bun.spawnSync(["nice", "-n", "5", process.execPath, "-e", script]);
  expect(run.stdout.toString()).toBe(`false false ${niceNow() + 5}\n`);
});
