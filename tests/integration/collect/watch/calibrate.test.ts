import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { openWatchProgram } from "../../../../src/collect/ebpf/watch/watch-program.ts";
import { onlineCpus } from "../../../../src/kernel/cpus.ts";
import { registersFree } from "../../../fixtures/registers-free.ts";

setDefaultTimeout(120_000);
const CPUS = onlineCpus();
const TIMES = 5;

async function calibrations() {
  await registersFree();
  using program = await openWatchProgram(undefined);
  const some = Array.from({ length: TIMES }, () => program.calibrate(CPUS));
  return some.toSorted((a, b) => a.retargetNs - b.retargetNs);
}

describe("what traps and retargets cost", () => {
  test("is more for a program that fills its caches between two traps than for a loop around one word", async () => {
    const some = await calibrations();
    for (const { trapNs, warmTrapNs } of some) expect(trapNs).toBeGreaterThanOrEqual(warmTrapNs);
    expect(some.filter(({ trapNs, warmTrapNs }) => trapNs > warmTrapNs).length).toBeGreaterThan(2);
  });

  test("is found about the same beside programs that take every CPU: they have no part in it", async () => {
    const measured = async () => (await calibrations()).filter((one) => one.measured);
    const alone = await measured();
    const rivals = CPUS.map(() => Bun.spawn(["sh", "-c", "while :; do :; done"]));
    try {
      // One may find no moment in which they leave it the CPU, and says that it did not.
      const beside = await measured();
      expect([alone.length > 0, beside.length > 0]).toEqual([true, true]);
      const middle = (list: typeof alone): number => list[list.length >> 1]?.retargetNs ?? 0;
      const ratio = middle(beside) / middle(alone);
      expect(Math.max(ratio, 1 / ratio)).toBeLessThan(3);
    } finally {
      for (const rival of rivals) rival.kill("SIGKILL");
      await Promise.all(rivals.map((rival) => rival.exited));
    }
  });
});
