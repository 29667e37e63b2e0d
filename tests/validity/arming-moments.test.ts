/**
 * Watches begin at any moment, real registers or not: the kernel lets go of a register at its ticks, and a program that works in
 * steps of so many ticks would be looked at in the same moments of each step, as one with a step every 20 ms is.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openRun } from "../../src/api/open-run.ts";
import { tickNs } from "../../src/kernel/libc.ts";
import { compileProgram } from "../fixtures/compile.ts";
import { registersFree } from "../fixtures/registers-free.ts";
import { runCli } from "../integration/run/cli.ts";

setDefaultTimeout(120_000);

const SECONDS = "15";
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

test("watches begin at any moment between two ticks of the kernel", async () => {
  await registersFree();
  const folder = mkdtempSync("/dev/shm/mrm-moments-");
  try {
    const program = [compileProgram("shapes", ["-static"]), "burst", SECONDS, "1", join(folder, "log")];
    const traced = await runCli(["run", "--output", folder, "--run-id", "r", "--seed", "1", "--", ...program]);
    expect(traced.exitCode).toBe(0);
    using run = openRun(join(folder, "shapes", "r"));
    const begins = run.table("watch").getChild("timestamp_ns");
    const all = Array.from(begins ?? [], (begin) => Number(BigInt(begin ?? 0n) % 1_000_000_000_000n)).sort(
      (a, b) => a - b,
    );
    const moments = all.filter((begin, i) => i === 0 || begin - (all[i - 1] ?? 0) > APART_NS);
    expect(moments.length).toBeGreaterThan(100);
    expect(unevenness(moments, tickNs())).toBeLessThan(MOST);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
