import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRunDelay } from "../../../../src/collect/process/run-delay.ts";
import { parseBusyNs, parseSchedstat } from "../../../../src/target/proc-text.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-run-delay-"));
afterAll(() => rmSync(root, { recursive: true }));

/** A process with these threads, each with what its schedstat says. */
function folderWith(threads: Readonly<Record<string, string>>, folder = mkdtempSync(join(root, "process-"))): string {
  rmSync(join(folder, "task"), { recursive: true, force: true });
  for (const [thread, text] of Object.entries(threads)) {
    mkdirSync(join(folder, "task", thread), { recursive: true });
    writeFileSync(join(folder, "task", thread, "schedstat"), text);
  }
  return folder;
}

const delayIn = (folder: string) => {
  const read = createRunDelay(folder);
  return () => read()?.run_delay_ns ?? null;
};

describe("the CPU time of threads that waited", () => {
  test("counts each thread by its share of the waiting, from the first reading on", () => {
    const folder = folderWith({ 7: "5000 300 4\n", 8: "900 12 9\n" });
    const read = createRunDelay(folder);
    expect(read()?.waiter_cpu_ns).toBe(0n);
    // The first thread ran 1000 and waited 10, the second ran 20 and waited 30, a third came, ran 40 and waited 10.
    folderWith({ 7: "6000 310 5\n", 8: "920 42 10\n", 9: "40 10 1\n" }, folder);
    expect(read()?.waiter_cpu_ns).toBe(BigInt(Math.floor((1000 * 10 + 20 * 30 + 40 * 10) / 50)));
    folderWith({ 7: "6000 310 5\n" }, folder);
    expect(read()?.waiter_cpu_ns).toBe(BigInt(Math.floor((1000 * 10 + 20 * 30 + 40 * 10) / 50)));
  });
});

test("what each living thread ran and waited since the reading before begins with the second reading", () => {
  const folder = folderWith({ 7: "5000 300 4\n", 8: "900 12 9\n" });
  const read = createRunDelay(folder);
  const times = () =>
    read()
      ?.threads.map(({ ran_ns, waited_ns }) => `${ran_ns} ${waited_ns}`)
      .sort();
  expect(times()).toEqual([]);
  // One ran 1000 and waited 10, one ended, a third came.
  folderWith({ 7: "6000 310 5\n", 9: "40 10 1\n" }, folder);
  expect(times()).toEqual(["1000 10", "40 10"]);
  // The number of the third is that of another by now.
  folderWith({ 7: "6000 310 5\n", 9: "30 11 1\n" }, folder);
  expect(times()).toEqual(["0 0", "30 11"]);
});

describe("the time that a process waited for a CPU", () => {
  test("is that of all its threads, those included that have ended", () => {
    const folder = folderWith({ 7: "500 30 4\n", 8: "900 12 9\n" });
    const runDelay = delayIn(folder);
    expect(runDelay()).toBe(42n);
    folderWith({ 7: "600 35 5\n", 9: "10 1 1\n" }, folder);
    expect(runDelay()).toBe(35n + 1n + 12n);
    folderWith({ 7: "700 40 6\n" }, folder);
    expect(runDelay()).toBe(40n + 1n + 12n);
  });

  test("keeps what a thread waited whose number another one has by now", () => {
    const folder = folderWith({ 7: "500 30 4\n" });
    const runDelay = delayIn(folder);
    runDelay();
    folderWith({ 7: "20 3 1\n" }, folder);
    expect(runDelay()).toBe(33n);
  });

  test("is not known where the kernel keeps no account, where it has ended, and in a text that is none", () => {
    expect(createRunDelay(folderWith({ 7: "0 0 0\n" }))()).toBeNull();
    expect(createRunDelay(join(root, "nothing"))()).toBeNull();
    expect(createRunDelay(folderWith({ 7: "hello\n" }))()).toBeNull();
  });

  test("of this very process is told by this machine, and grows", () => {
    const runDelay = delayIn(`/proc/${process.pid}`);
    const first = runDelay();
    const second = runDelay();
    expect(first).not.toBeNull();
    expect(second ?? 0n).toBeGreaterThanOrEqual(first ?? 1n);
  });
});

test("the CPU time of a machine leaves out idle, waiting for disks and what its host took", () => {
  expect(parseBusyNs("cpu  10 1 5 100 7 2 3 4 9 0\ncpu0 1 2 3 4\n")).toBe(BigInt(10 + 1 + 5 + 2 + 3) * 10_000_000n);
  expect(parseBusyNs("cpu  10 1 5 100\n")).toBeNull();
  expect(parseBusyNs("")).toBeNull();
});

test("a thread's account of waiting is its second figure", () => {
  expect(parseSchedstat("123 456 7\n")).toEqual({ ran_ns: 123n, waited_ns: 456n });
  expect(parseSchedstat("123 0 7\n")).toEqual({ ran_ns: 123n, waited_ns: 0n });
  expect(parseSchedstat("123")).toBeNull();
});
