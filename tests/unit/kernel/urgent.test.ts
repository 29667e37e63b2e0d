import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { getPriority } from "node:os";
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

const MODULE = new URL("../../../src/kernel/urgent.ts", import.meta.url).pathname;
/** Fields 19 and 41 of /proc/PID/stat: nice, and policy. */
const HEADER = `
  import { readFileSync } from "node:fs";
import { getPriority } from "node:os";
  import { promptly, urgently } from "${MODULE}";
  const fields = (path) => readFileSync(path, "utf8").split(") ")[1].split(" ");
  const now = () => { const own = fields("/proc/thread-self/stat"); return [Number(own[16]), Number(own[38])]; };
  const childsNice = () => {
    const child = Bun.spawn(["sleep", "60"]);
    try { return Number(fields("/proc/" + child.pid + "/stat")[16]); } finally { child.kill(); }
  };
`;

/** What lines say in a process of their own, which begins with this nice value, whatever that of the tests is. */
function saidAt(nice: number, lines: string): unknown {
  const step = String(nice - getPriority());
  const run = Bun.spawnSync(["nice", "-n", step, process.execPath, "-e", `${HEADER}${lines}`]);
  expect(run.stderr.toString()).toBe("");
  return JSON.parse(run.stdout.toString());
}

test.skipIf(!ROOT)("a thread that is to come round in time goes before others until it need no more", () => {
  const said = saidAt(
    0,
    `const said = [];
    {
      using prompt = promptly();
      said.push([prompt.isPrompt, prompt.isRefused], now(), urgently(now), now(), childsNice());
    }
    said.push(now(), urgently(now), now());
    console.log(JSON.stringify(said));`,
  );
  expect(said).toEqual([[true, false], [-10, 0], [-10, 1], [-10, 0], 0, [0, 0], [0, 1], [0, 0]]);
});

test.skipIf(!ROOT)("who has a priority of his own keeps it", () => {
  const said = saidAt(
    5,
    "using prompt = promptly(); console.log(JSON.stringify([prompt.isPrompt, prompt.isRefused, now()]));",
  );
  expect(said).toEqual([false, false, [5, 0]]);
});
