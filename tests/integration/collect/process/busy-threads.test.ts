/** How many threads of a real C program are busy at once, as the process collector tells. */
import { expect, test } from "bun:test";
import { createProcessCollector } from "../../../../src/collect/process/process-collector.ts";
import { createBusyThreads } from "../../../../src/record/busy-threads.ts";
import { compileProgram } from "../../../fixtures/compile.ts";

/** What is told of a program after a second. */
async function toldOf(command: readonly string[]): Promise<number> {
  await using child = Bun.spawn([...command]);
  const collector = createProcessCollector({ intervalNs: 1n });
  await collector.start({ pid: child.pid, command, held: false });
  const threads = createBusyThreads();
  for (let look = 0; look < 11; look++) {
    for (const batch of collector.batches()) threads.take(batch);
    await Bun.sleep(100);
  }
  for (const batch of (await collector.stop()).batches) threads.take(batch);
  return threads.mean(new Map()) ?? Number.NaN;
}

test("three threads that work are told from two that wait, however many CPUs they have", async () => {
  const told = await toldOf([compileProgram("some-idle"), "3", "2"]);
  expect(told).toBeGreaterThan(2.5);
  expect(told).toBeLessThan(3.5);
});
