/**
 * Watches begin at any moment, real registers or not: the kernel lets go of a register at its ticks, and a program that works in
 * steps of so many ticks would be looked at in the same moments of each step, as one with a step every 20 ms is. And one that has all CPUs leaves none to
 * who is to begin a watch, unless that one goes first.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { openRun } from "../../src/api/open-run.ts";
import { tickNs } from "../../src/kernel/libc.ts";
import { compileProgram } from "../fixtures/compile.ts";
import { registersFree } from "../fixtures/registers-free.ts";
import { runCli } from "../integration/run/cli.ts";

setDefaultTimeout(120_000);

const SECONDS = "15";
/** Busy for half of it; a divisor of what moments are told up to. */
const PERIOD_NS = 20e6;
/** As many as are begun at one look are one moment. */
const APART_NS = 1e6;
/** Rayleigh's statistic of moments that are even over a tick is as large with a chance of exp(-14), one in a million; begun at ticks it was 37 to 50. */
const MOST = 14;

/** How uneven moments are over a period: Rayleigh's statistic, n times the square of the mean direction. */
function unevenness(moments_ns: readonly number[], period_ns: number): number {
  const angles = moments_ns.map((moment) => (2 * Math.PI * (moment % period_ns)) / period_ns);
  const sum = (part: (angle: number) => number): number => angles.reduce((all, angle) => all + part(angle), 0);
  return (sum(Math.sin) ** 2 + sum(Math.cos) ** 2) / moments_ns.length;
}

/** Moments at which watches of a run of a program began, ns of the monotonic clock, up to a multiple of a second. */
async function momentsOf(program: readonly string[]): Promise<number[]> {
  await registersFree();
  const folder = mkdtempSync("/dev/shm/mrm-moments-");
  try {
    const given = program.map((word) => word.replace("FOLDER", folder));
    const traced = await runCli(["run", "--output", folder, "--run-id", "r", "--seed", "1", "--", ...given]);
    expect(traced.exitCode).toBe(0);
    using run = openRun(join(folder, basename(program[0] ?? ""), "r"));
    const begins = run.table("watch").getChild("timestamp_ns");
    const all = Array.from(begins ?? [], (begin) => Number(BigInt(begin ?? 0n) % 1_000_000_000_000n)).sort(
      (a, b) => a - b,
    );
    return all.filter((begin, i) => i === 0 || begin - (all[i - 1] ?? 0) > APART_NS);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("watches begin at any moment between two ticks of the kernel", async () => {
  const moments = await momentsOf([compileProgram("shapes", ["-static"]), "burst", SECONDS, "1", "FOLDER/log"]);
  expect(moments.length).toBeGreaterThan(100);
  expect(unevenness(moments, tickNs())).toBeLessThan(MOST);
});

test("watches begin as often while a program has all CPUs as while it rests", async () => {
  const moments = await momentsOf([compileProgram("all-cpus"), SECONDS, String(PERIOD_NS)]);
  expect(moments.length).toBeGreaterThan(100);
  expect(unevenness(moments, PERIOD_NS)).toBeLessThan(MOST);
});
