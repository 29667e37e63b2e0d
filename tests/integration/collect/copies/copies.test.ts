/** A program that does nothing but copy: what a run says of how watches slow it, beside how fast it copies alone. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileProgram } from "../../../fixtures/compile.ts";

setDefaultTimeout(120_000);

const CLI = join(import.meta.dir, "../../../../src/cli.ts");
const folder = mkdtempSync(join(tmpdir(), "mrm-copies-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const copiesIn = (text: string): number => Number(/copies per s: (\d+)/.exec(text)?.[1]);

/** Copies a second of CPU time alone: the quickest, as watches of others may be on. */
function alone(program: string): number {
  const each = Array.from({ length: 5 }, () => copiesIn(Bun.spawnSync([program, "0.3"]).stdout.toString()));
  return Math.max(...each);
}

function traced(program: string, ...options: readonly string[]) {
  const command = [process.execPath, CLI, "run", ...options, "--json", "--output", join(folder, "runs"), "--"];
  const child = Bun.spawnSync([...command, program, "10"], { stderr: "pipe" });
  const { observer, validity, warnings } = JSON.parse(child.stdout.toString());
  return { copies: copiesIn(child.stderr.toString()), observer, validity, warnings: warnings as string[] };
}

test("a run says how much watches slow a program that copies, and lets them rest so that it is little", () => {
  const program = compileProgram("copy-blocks");
  const before = alone(program);
  const { copies, observer } = traced(program);
  const slowdown = Math.max(before, alone(program)) / copies;
  const { lo, hi } = observer.slowdown_pct;
  // The tracer's interval has the whole of what was seen, but for the chance of a machine that others use.
  expect(1 + hi / 100).toBeGreaterThan(slowdown / 1.3);
  expect(1 + lo / 100).toBeLessThan(slowdown * 1.3);
  // It does nothing but copy: with a watch all the time it took four times as long, and as much for a second before its copies are known.
  expect(slowdown).toBeLessThan(1.6);
});

test("a run without watches leaves copies as quick as they are", () => {
  const { observer } = traced(compileProgram("copy-blocks"), "--source", "clock");
  expect(observer.slowdown_pct.value).toBeLessThan(10);
  expect(observer.parts.map(({ what }: { what: string }) => what)).not.toContain("copies slowed by watches");
});
