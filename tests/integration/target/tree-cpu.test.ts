import { expect, test } from "bun:test";
import { measureBaseline } from "../../../src/overhead/baseline.ts";
import { treeTicks } from "../../../src/target/tree-cpu.ts";

const BURN = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";

/** A shell that waits for a line before each of its turns, and says when one is over. */
function shell(turn: string) {
  const child = Bun.spawn(["sh", "-c", `while read go; do ${turn}; echo done; done`], {
    stdin: "pipe",
    stdout: "pipe",
  });
  const reader = child.stdout.getReader();
  return {
    pid: child.pid,
    async turn() {
      child.stdin.write("go\n");
      child.stdin.flush();
      await reader.read();
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

test("the CPU time of a tree holds that of children, those that have ended too, and never falls", async () => {
  await using own = shell(BURN);
  await using children = shell(`( ${BURN} ); ( ${BURN} )`);
  for (const one of [own, children]) {
    const readings = [treeTicks(one.pid)];
    for (let i = 0; i < 4; i++) {
      await one.turn();
      readings.push(treeTicks(one.pid));
    }
    expect(readings).toEqual(readings.toSorted((a, b) => a - b));
    expect((readings.at(-1) ?? 0) - (readings[0] ?? 0)).toBeGreaterThan(5);
  }
});

test("a tree that is gone has had no time", () => {
  expect(treeTicks(0x7ffffff0)).toBe(0);
});

test("the baseline leaves out what a target takes, and keeps what others take", async () => {
  const burner = Bun.spawn(["sh", "-c", "while :; do :; done"]);
  try {
    // All at the same time, so that a stranger's load is the same to each; by as long as the burner was given a CPU.
    let givenTicks = 0;
    let leftOut = 0;
    let leftOutOfOther = 0;
    while (givenTicks < 20) {
      const before = treeTicks(burner.pid);
      const [whole, without, other] = await Promise.all([
        measureBaseline({ durationMs: 600 }),
        measureBaseline({ durationMs: 600, targetTicks: () => treeTicks(burner.pid) }),
        measureBaseline({ durationMs: 600, targetTicks: () => treeTicks(0x7ffffff0) }),
      ]);
      givenTicks += treeTicks(burner.pid) - before;
      const ticksPerPct = (navigator.hardwareConcurrency * whole.duration_ms) / (10 * 100);
      leftOut += ((whole.cpu_pct ?? 0) - (without.cpu_pct ?? 0)) * ticksPerPct;
      leftOutOfOther += ((other.cpu_pct ?? 0) - (without.cpu_pct ?? 0)) * ticksPerPct;
      expect(without.cpu_pct ?? -1).toBeGreaterThanOrEqual(0);
      expect(without.cpu_pct_max ?? -1).toBeGreaterThanOrEqual(0);
    }
    expect(leftOut).toBeGreaterThan(0.8 * givenTicks - 5);
    expect(leftOutOfOther).toBeGreaterThan(0.8 * givenTicks - 5);
  } finally {
    burner.kill("SIGKILL");
  }
});
