import { expect, test } from "bun:test";
import { getPriority } from "node:os";

const MODULE = new URL("../../../src/overhead/priority.ts", import.meta.url).pathname;

/** Runs lines in a process of their own, since a priority that was lowered stays so. */
function said(lines: string): string {
  const script = `import { dieFirst, stepBack } from "${MODULE}"; import { readFileSync, readdirSync } from "node:fs"; ${lines}`;
  const run = Bun.spawnSync([process.execPath, "-e", script]);
  expect(run.stderr.toString()).toBe("");
  return run.stdout.toString();
}

test("a process that steps back is nice on all its threads", () => {
  const nices = JSON.parse(
    said(`
      const refused = stepBack();
      const nices = readdirSync("/proc/self/task").map((tid) => {
        const stat = readFileSync("/proc/self/task/" + tid + "/stat", "latin1");
        return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]);
      });
      console.log(JSON.stringify([refused, [...new Set(nices)]]));`),
  );
  // Who runs the tests may have asked for less than that.
  expect(nices).toEqual([[], [Math.max(10, getPriority())]]);
});

test("a process that is to die first says so to the kernel", () => {
  expect(said(`console.log(dieFirst().length, readFileSync("/proc/self/oom_score_adj", "latin1"))`)).toBe("0 1000\n\n");
});
