import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Subprocess } from "bun";
import { guard } from "../../../src/compare/watchdog.ts";
import { descendants, listsChildren } from "../../../src/target/tree.ts";

const guarded: Subprocess[] = [];
afterEach(() => {
  for (const one of guarded.splice(0)) one.kill("SIGKILL");
});

const statusOf = (pid: number): string => readFileSync(`/proc/${pid}/status`, "utf8");

/** A guarded process, and the number of what guards it. */
async function guardedSleep() {
  const sleep = Bun.spawn(["sleep", "60"]);
  guarded.push(sleep);
  const children = (): number[] => [...descendants("/proc", [process.pid], listsChildren("/proc"))];
  const before = new Set(children());
  const watchdog = guard(sleep.pid);
  const [pid = 0] = children().filter((one) => !before.has(one));
  // Until its shell has begun: it ignores SIGINT.
  const ignored = (): number =>
    Number.parseInt(/^SigIgn:\s+([0-9a-f]+)/m.exec(statusOf(pid))?.[1]?.slice(-1) ?? "0", 16);
  for (let i = 0; i < 500 && (ignored() & 2) === 0; i++) await Bun.sleep(10);
  return { sleep, watchdog, pid };
}

describe("the guard of a run", () => {
  test("outlives what a terminal sends to all", async () => {
    const { sleep, watchdog, pid } = await guardedSleep();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(pid, signal);
    Bun.sleepSync(100);
    expect(statusOf(pid)).not.toMatch(/^State:\s+[ZX]/m);
    watchdog.release();
    await Bun.sleep(100);
    expect([sleep.exitCode, sleep.signalCode]).toEqual([null, null]);
  });

  test("may be gone when it is let go", async () => {
    const { watchdog, pid } = await guardedSleep();
    process.kill(pid, "SIGKILL");
    // Its end has not been noticed here: what is written to it fails.
    Bun.sleepSync(100);
    expect(() => watchdog.release()).not.toThrow();
  });
});
