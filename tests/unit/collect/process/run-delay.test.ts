import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRunDelay } from "../../../../src/collect/process/run-delay.ts";
import { parseBusyNs, parseRunDelayNs } from "../../../../src/target/proc-text.ts";

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

describe("the time that a process waited for a CPU", () => {
  test("is that of all its threads, those included that have ended", () => {
    const folder = folderWith({ 7: "500 30 4\n", 8: "900 12 9\n" });
    const runDelay = createRunDelay(folder);
    expect(runDelay()).toBe(42n);
    folderWith({ 7: "600 35 5\n", 9: "10 1 1\n" }, folder);
    expect(runDelay()).toBe(35n + 1n + 12n);
    folderWith({ 7: "700 40 6\n" }, folder);
    expect(runDelay()).toBe(40n + 1n + 12n);
  });

  test("keeps what a thread waited whose number another one has by now", () => {
    const folder = folderWith({ 7: "500 30 4\n" });
    const runDelay = createRunDelay(folder);
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
    const runDelay = createRunDelay(`/proc/${process.pid}`);
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
  expect(parseRunDelayNs("123 456 7\n")).toBe(456n);
  expect(parseRunDelayNs("123 0 7\n")).toBe(0n);
  expect(parseRunDelayNs("123")).toBeNull();
});
