import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createProcessMaps } from "../../../src/regions/mapping-events.ts";
import { balances, placeWords } from "../../../src/schema/ledger.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { diffAgainstProc } from "../../fixtures/flat-maps.ts";
import { trace } from "./traced.ts";

const PHASES = ["f", "r", "u", "b", "p", "a", "s", "m", "t", "e", "k"];

/** Runs the nasty program and compares the map rebuilt from events with /proc/PID/maps of the same moment. */
async function rebuiltDiffers(seed: number, phases: string): Promise<string[]> {
  await using traced = await trace([compileProgram("nasty-maps"), String(seed), phases]);
  expect(await traced.line()).toBe("ready");
  await Bun.sleep(20);
  traced.drain();
  const text = readFileSync(`/proc/${traced.pid}/maps`, "utf8");
  const maps = createProcessMaps();
  for (const row of traced.rows) maps.apply(row);
  expect(maps.counters.bad_rows).toBe(0);
  expect(maps.counters.applied).toBeGreaterThan(20);
  await traced.finish();
  for (const row of [...traced.lifecycle.ledger(), ...traced.faultSource.ledger()]) {
    expect([placeWords(row), balances(row), row.dropped]).toEqual([placeWords(row), true, 0]);
  }
  return diffAgainstProc(maps.mapsOf(traced.pid), text);
}

describe("the map rebuilt from events equals /proc/PID/maps of the same moment", () => {
  for (const phase of PHASES) {
    test(`after phase ${phase} of the nasty program`, async () => {
      expect(await rebuiltDiffers(7, phase)).toEqual([]);
    });
  }
  for (const seed of [1, 2, 3]) {
    test(`after all phases with seed ${seed}`, async () => {
      expect(await rebuiltDiffers(seed, PHASES.join(""))).toEqual([]);
    });
  }
});

test("a forked child that runs another program is followed to its end", async () => {
  await using traced = await trace(["/bin/sh", "-c", "/bin/ls / >/dev/null; /bin/true; echo done"]);
  expect(await traced.line()).toBe("done");
  await traced.finish();
  const kinds = (kind: string) => traced.rows.filter((row) => row.kind === kind);
  expect(kinds("fork")).toHaveLength(2);
  // The shell itself, ls and true.
  expect(kinds("exec")).toHaveLength(3);
  expect(new Set(kinds("exit").map((row) => row.pid)).size).toBe(3);
  expect(traced.rows.some((row) => row.kind === "file" && row.path?.endsWith("/ls"))).toBe(true);
});

test("a call that the kernel refuses is recorded with its errno", async () => {
  await using traced = await trace([
    "python3",
    "-c",
    "import ctypes;l=ctypes.CDLL(None);print(l.munmap(ctypes.c_void_p(1),4096))",
  ]);
  expect(await traced.line()).toBe("-1");
  await traced.finish();
  const refused = traced.rows.filter((row) => row.kind === "munmap" && row.addr === 1n);
  expect(refused.map((row) => row.result)).toEqual([-22n]);
});
